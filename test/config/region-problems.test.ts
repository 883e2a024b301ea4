// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references to the environment are what is tested.
import { describe } from 'vitest';
import { problemsIn, problemsOf, testProblems } from './load.ts';

describe('regions', () => {
  const region = (settings: string) => `regions:\n  eu: { ${settings} }`;
  testProblems(problemsOf, [
    ['regions: {}', '1:10: regions: must name at least one region'],
    ['regions: [eu]', '1:10: regions: must be a map of region names, such as eu, and their settings'],
    ['regions:\n  eu:', '2:3: regions.eu: must be a map with `base_url` and `token`'],
    [
      'regions: { EU: { base_url: https://x, token: t } }',
      '1:12: regions.EU: a region name has only lower-case letters, digits and hyphens',
    ],
    [
      'regions: { all: { base_url: https://x, token: t } }',
      '1:12: regions.all: a region cannot be called `all`, which means all of them: choose another name; events already stored keep the old one',
    ],
  ]);
  testProblems(problemsIn(region), [
    ['token: t', '2:3: regions.eu.base_url: is missing'],
    [
      'base_url: eu-1, token: t',
      '2:19: regions.eu.base_url: must be a URL that begins with http:// or https://',
    ],
    [
      'base_url: "https://u:s3cret@x", token: t',
      '2:19: regions.eu.base_url: must not hold a user name or password',
    ],
    [
      'base_url: "https://x/a?b=c", token: t',
      '2:19: regions.eu.base_url: must end with its path: nothing after `?` or `#`',
    ],
    ['base_url: https://x', '2:3: regions.eu.token: is missing: give `token` or `token_file`'],
    ['base_url: https://x, token: ""', '2:37: regions.eu.token: must not be empty'],
    [
      'base_url: https://x, token: "a\\nb"',
      '2:37: regions.eu.token: must be one line without control characters',
    ],
    ['base_url: https://x, token: 12', '2:37: regions.eu.token: must be text: put it in quotes'],
    [
      'base_url: https://x, token: t, token_file: f',
      '2:52: regions.eu.token_file: give either `token` or `token_file`, not both',
    ],
    ['base_url: https://x, token: "${T}"', '2:37: regions.eu.token: $T is not set in the environment'],
    // A token that is set and empty.
    [
      'base_url: https://x, token: "${T}"',
      '2:37: regions.eu.token: must not be empty',
      { environment: { T: '' } },
    ],
    [
      'base_url: https://x, token_file: t/f',
      '2:42: regions.eu.token_file: /etc/nestwatch/t/f does not exist',
    ],
    // A token file that is empty.
    [
      'base_url: https://x, token_file: /f',
      '2:42: regions.eu.token_file: /f: is empty',
      { files: { '/f': '\n' } },
    ],
    // A token put where its file belongs.
    [
      'base_url: https://x, token_file: "${T}"',
      '2:42: regions.eu.token_file: the file does not exist',
      { environment: { T: 's3cret' } },
    ],
    // An unknown key.
    [
      'base_url: https://x, tokn: t',
      '2:3: regions.eu.token: is missing: give `token` or `token_file`',
      '2:30: regions.eu.tokn: unknown key; did you mean `token`?',
    ],
    [
      'base_url: https://x, token: t, nests: { exclud: [] }',
      '2:49: regions.eu.nests.exclud: unknown key; did you mean `exclude`?',
    ],
    // Numbers out of bounds.
    [
      'base_url: https://x, token: t, requests_per_second: 0, concurrency: 1.5',
      '2:61: regions.eu.requests_per_second: must be at least 0.1',
      '2:77: regions.eu.concurrency: must be a whole number',
    ],
    ['base_url: https://x, token: t, concurrency: "8"', '2:53: regions.eu.concurrency: must be a number'],
    [
      'base_url: https://x, token: t, requests_per_second: "${R}"',
      '2:61: regions.eu.requests_per_second: $R is not set in the environment',
    ],
    // A number from the environment that is none.
    [
      'base_url: https://x, token: t, requests_per_second: "${R}"',
      '2:61: regions.eu.requests_per_second: must be a number (it comes from the environment)',
      { environment: { R: 'many' } },
    ],
    [
      'base_url: https://x, token: t, timeout: 15',
      '2:49: regions.eu.timeout: must be a duration such as 30s, 5m or 1h30m',
    ],
    ['base_url: https://x, token: t, timeout: 0', '2:49: regions.eu.timeout: must be at least 100ms'],
  ]);
});
