// SPDX-License-Identifier: MIT
// A reporter for Node's test runner that writes one line, `passed failed skipped`, counting single
// tests: suites are not tests, and a file in which no test ran is a failure. Node 18 and 20.
import {basename} from 'node:path';

export default async function* count(source) {
    const n = {passed: 0, failed: 0, skipped: 0};
    for await (const {type, data} of source) {
        if (type !== 'test:pass' && type !== 'test:fail') continue;
        if (data.details?.type === 'suite') continue;
        const isFile = data.name.endsWith('.mjs') && (!data.file || basename(data.file) === basename(data.name));
        if (data.skip !== undefined || data.todo !== undefined) n.skipped++;
        else if (type === 'test:fail' || isFile) n.failed++;
        else n.passed++;
    }
    yield `${n.passed} ${n.failed} ${n.skipped}\n`;
}
