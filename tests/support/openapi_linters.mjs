// SPDX-License-Identifier: MIT
//
// openapi_linters: what Redocly and Spectral, with the rules that they recommend, find in an OpenAPI file. These are the
// libraries behind `redocly lint` and `spectral lint`.
//
//   await redocly(text)    [{rule, isError, message, at}]
//   await spectral(text)   the same
import redoclyCore from '@redocly/openapi-core';
import spectralCore from '@stoplight/spectral-core';
import spectralParsers from '@stoplight/spectral-parsers';
import spectralRulesets from '@stoplight/spectral-rulesets';

const SPECTRAL_ERROR = 0;

export async function redocly(text) {
  const config = await redoclyCore.createConfig({ extends: ['recommended'] });
  const problems = await redoclyCore.lintFromString({ source: text, absoluteRef: 'openapi.yaml', config });
  return problems.map(({ ruleId, severity, message, location }) => ({ rule: ruleId, isError: severity === 'error', message, at: location?.[0]?.pointer }));
}

export async function spectral(text) {
  const linter = new spectralCore.Spectral();
  linter.setRuleset({ extends: [spectralRulesets.oas] });
  const problems = await linter.run(new spectralCore.Document(text, spectralParsers.Yaml, 'openapi.yaml'));
  return problems.map(({ code, severity, message, path }) => ({ rule: String(code), isError: severity === SPECTRAL_ERROR, message, at: path.join('/') }));
}
