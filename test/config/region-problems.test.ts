// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references to the environment are what is tested.
import { describe } from 'vitest';
import { testProblems } from './load.ts';

describe('regions', () => {
  const region = (settings: string) => `regions:\n  eu: { ${settings} }`;
  testProblems([
    ['none at all', 'regions: {}', ['1:10: regions: must name at least one region']],
    [
      'a list of them',
      'regions: [eu]',
      ['1:10: regions: must be a map of region names, such as eu, and their settings'],
    ],
    [
      'one without settings',
      'regions:\n  eu:',
      ['2:3: regions.eu: must be a map with `base_url` and `token`'],
    ],
    [
      'a name in capitals',
      'regions: { EU: { base_url: https://x, token: t } }',
      ['1:12: regions.EU: a region name has only lower-case letters, digits and hyphens'],
    ],
    ['no address', region('token: t'), ['2:3: regions.eu.base_url: is missing']],
    [
      'an address that is none',
      region('base_url: eu-1, token: t'),
      ['2:19: regions.eu.base_url: must be a URL that begins with http:// or https://'],
    ],
    [
      'an address with a password',
      region('base_url: "https://u:s3cret@x", token: t'),
      ['2:19: regions.eu.base_url: must not hold a user name or password'],
    ],
    [
      'an address with a query',
      region('base_url: "https://x/a?b=c", token: t'),
      ['2:19: regions.eu.base_url: must end with its path: nothing after `?` or `#`'],
    ],
    [
      'no token',
      region('base_url: https://x'),
      ['2:3: regions.eu.token: is missing: give `token` or `token_file`'],
    ],
    [
      'an empty token',
      region('base_url: https://x, token: ""'),
      ['2:37: regions.eu.token: must not be empty'],
    ],
    [
      'a token of two lines',
      region('base_url: https://x, token: "a\\nb"'),
      ['2:37: regions.eu.token: must be one line without control characters'],
    ],
    [
      'a token that YAML reads as a number',
      region('base_url: https://x, token: 12'),
      ['2:37: regions.eu.token: must be text: put it in quotes'],
    ],
    [
      'both twins',
      region('base_url: https://x, token: t, token_file: f'),
      ['2:52: regions.eu.token_file: give either `token` or `token_file`, not both'],
    ],
    [
      'a token that is not set',
      region('base_url: https://x, token: "${T}"'),
      ['2:37: regions.eu.token: $T is not set in the environment'],
    ],
    [
      'a token that is set and empty',
      region('base_url: https://x, token: "${T}"'),
      ['2:37: regions.eu.token: must not be empty'],
      { environment: { T: '' } },
    ],
    [
      'a token file that is not there',
      region('base_url: https://x, token_file: t/f'),
      ['2:42: regions.eu.token_file: /etc/nestwatch/t/f does not exist'],
    ],
    [
      'a token file that is empty',
      region('base_url: https://x, token_file: /f'),
      ['2:42: regions.eu.token_file: /f: is empty'],
      { files: { '/f': '\n' } },
    ],
    [
      'a token put where its file belongs',
      region('base_url: https://x, token_file: "${T}"'),
      ['2:42: regions.eu.token_file: the file does not exist'],
      { environment: { T: 's3cret' } },
    ],
    [
      'an unknown key',
      region('base_url: https://x, tokn: t'),
      [
        '2:3: regions.eu.token: is missing: give `token` or `token_file`',
        '2:30: regions.eu.tokn: unknown key; did you mean `token`?',
      ],
    ],
    [
      'an unknown key further down',
      region('base_url: https://x, token: t, nests: { exclud: [] }'),
      ['2:49: regions.eu.nests.exclud: unknown key; did you mean `exclude`?'],
    ],
    [
      'numbers out of bounds',
      region('base_url: https://x, token: t, requests_per_second: 0, concurrency: 1.5'),
      [
        '2:61: regions.eu.requests_per_second: must be at least 0.1',
        '2:77: regions.eu.concurrency: must be a whole number',
      ],
    ],
    [
      'a number that is text',
      region('base_url: https://x, token: t, concurrency: "8"'),
      ['2:53: regions.eu.concurrency: must be a number'],
    ],
    [
      'a number that is not set, reported once',
      region('base_url: https://x, token: t, requests_per_second: "${R}"'),
      ['2:61: regions.eu.requests_per_second: $R is not set in the environment'],
    ],
    [
      'a number from the environment that is none',
      region('base_url: https://x, token: t, requests_per_second: "${R}"'),
      ['2:61: regions.eu.requests_per_second: must be a number (it comes from the environment)'],
      { environment: { R: 'many' } },
    ],
    [
      'a timeout without a unit',
      region('base_url: https://x, token: t, timeout: 15'),
      ['2:49: regions.eu.timeout: must be a duration such as 30s, 5m or 1h30m'],
    ],
    [
      'a timeout that nothing could meet',
      region('base_url: https://x, token: t, timeout: 0'),
      ['2:49: regions.eu.timeout: must be at least 100ms'],
    ],
  ]);
});
