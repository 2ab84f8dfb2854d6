// SPDX-License-Identifier: MIT
//
// clock: simulated time, which runs `slow` times slower than the machine's. The scripts take it, too: the library's text gets a clock
// that is slowed in the same way. What Redis itself counts down (keys with a TTL) does not, and ends too soon: a model is quiet for
// 50 real ms, and keys of leases, on which nothing depends, expire.
export class Clock {
  constructor(slow) {
    this.slow = slow;
    this.origin = Date.now();
    this.timers = new Set();
    this.measureLate();
  }

  // From now on: by how many simulated ms timers run after they are due.
  measureLate() {
    this.late = { n: 0, sumMs: 0, mostMs: 0 };
  }

  // Simulated ms.
  now() {
    return this.origin + (Date.now() - this.origin) / this.slow;
  }

  // Once stopped, nothing: what was under way then cannot keep its process alive.
  after(ms, run) {
    if (this.isStopped) return undefined;
    const due = this.now() + Math.max(0, ms);
    const timer = setTimeout(() => {
      this.timers.delete(timer);
      const late = Math.max(0, this.now() - due);
      this.late.n++;
      this.late.sumMs += late;
      this.late.mostMs = Math.max(this.late.mostMs, late);
      run();
    }, Math.max(0, ms * this.slow));
    this.timers.add(timer);
    return timer;
  }

  cancel(timer) {
    clearTimeout(timer);
    this.timers.delete(timer);
  }

  stop() {
    this.isStopped = true;
    for (const timer of this.timers) clearTimeout(timer);
    this.timers.clear();
  }

  pass(ms) {
    return new Promise((resolve) => this.after(ms, resolve));
  }

  // The same clock in lua/turn/frame.lua.
  slowed(library) {
    const real = "local time = call('TIME')\n";
    if (library.split(real).length !== 2) throw new Error('lua/turn/frame.lua reads its clock in another way');
    const us = `local us = ${this.origin}000 + ((time[1] - ${Math.floor(this.origin / 1000)}) * 1000000 + time[2] - ${this.origin % 1000}000) / ${this.slow}\n`;
    return library.replace(real, `${real}${us}time = {math.floor(us / 1000000), math.floor(us % 1000000)}\n`);
  }
}
