import { describe, expect, test } from 'vitest';
import { load, problemsOf, REGION, testProblems } from './load.ts';

const HASH = `$$scrypt$$ln=14,r=8,p=1$$${'A'.repeat(22)}$$${'A'.repeat(43)}`;

/** Without their positions. */
const problems = (auth: string) =>
  problemsOf(`${REGION}web: { auth: ${auth} }\n`).map((line) => line.replace(/^\d+:\d+: web\.auth\./, ''));

describe('web.auth', () => {
  testProblems(problems, [
    ['{ tokens: [{ token: "12345678" }] }', 'tokens[0].scopes: is missing'],
    [
      '{ tokens: [{ token: "12345678", scopes: [] }] }',
      'tokens[0].scopes: must name at least one of read, metrics, write, fly',
    ],
    [
      '{ tokens: [{ token: "12345678", scopes: [admin] }] }',
      'tokens[0].scopes[0]: must be one of read, metrics, write, fly',
    ],
    ['{ tokens: [{ token: abc, scopes: [read] }] }', 'tokens[0].token: must have at least 8 characters'],
    ['{ tokens: [{ scopes: [read] }] }', 'tokens[0].token: is missing: give `token` or `token_file`'],
    // A provider without encryption, without an id, and a right that nobody knows.
    [
      '{ oidc: { issuer: "http://login.example.com", groups: { ops: [read, wirte] } } }',
      'oidc.client_id: is missing',
      'oidc.issuer: must begin with https://',
      'oidc.groups.ops[1]: must be one of read, metrics, write, fly',
    ],
    [
      '{ users: { anna: { password_hash: hunter2 } } }',
      'users.anna.password_hash: must be what `nestwatch hash-password` prints: $scrypt$ln=14,r=8,p=1$…$…',
    ],
    [
      `{ users: { "a:b": { password_hash: "${HASH}" } } }`,
      'users["a:b"]: a name must not hold a colon: HTTP Basic ends it there',
    ],
    ['{ proxy: { header: X-User } }', 'proxy.trusted: is missing'],
    // Addresses that are none.
    [
      '{ proxy: { trusted: [proxy.example.com, 10.0.0.0/99] } }',
      'proxy.trusted[0]: must be an address or a range such as 10.1.0.0/16',
      'proxy.trusted[1]: must be an address or a range such as 10.1.0.0/16',
    ],
    // Ranges that are none, or everybody.
    [
      '{ proxy: { trusted: [10.0.0.0/8/9, 0.0.0.0/0, "::/0", "::ffff:10.0.0.0/104", "fe80::1%eth0"] } }',
      'proxy.trusted[0]: must be an address or a range such as 10.1.0.0/16',
      'proxy.trusted[1]: trusts everybody to be anybody: name the addresses of the proxy',
      'proxy.trusted[2]: trusts everybody to be anybody: name the addresses of the proxy',
      'proxy.trusted[3]: must be written as an IPv4 address or range, such as 10.1.0.0/16',
      'proxy.trusted[4]: must be an address or a range such as 10.1.0.0/16',
    ],
    // Several mistakes at once.
    [
      '{ bearer_token: x, tokens: [{ token: "12345678" }, { token: "12345678" }], proxy: { header: Host, trusted: [0.0.0.0/0] } }',
      'bearer_token: must have at least 8 characters',
      'tokens[0].scopes: is missing',
      'tokens[1].scopes: is missing',
      'tokens[1].token: is the same as `tokens[0]`: give each a token of its own, or one all scopes it needs',
      'proxy.header: is a header that clients send themselves: name the one in which the proxy passes the person',
      'proxy.trusted[0]: trusts everybody to be anybody: name the addresses of the proxy',
    ],
    ['{ bearer_token: x }', 'bearer_token: must have at least 8 characters'],
    // One token twice.
    [
      '{ bearer_token: "12345678", tokens: [{ token: "23456789", scopes: [read] }, { token: "23456789", scopes: [write] }, { token: "12345678", scopes: [read] }] }',
      'tokens[1].token: is the same as `tokens[0]`: give each a token of its own, or one all scopes it needs',
      'tokens[2].token: is the same as `bearer_token`: give each a token of its own, or one all scopes it needs',
    ],
    [
      '{ proxy: { header: "X User", trusted: [127.0.0.1] } }',
      'proxy.header: must be the name of a header, such as X-Forwarded-User',
    ],
  ]);

  test.each(['Host', 'authorization', 'X-Forwarded-For', 'Sec-Fetch-User', 'Content-Type'])(
    'the header %s, which clients send',
    (header) => {
      expect(problems(`{ proxy: { header: ${header}, trusted: [127.0.0.1] } }`)).toEqual([
        'proxy.header: is a header that clients send themselves: name the one in which the proxy passes the person',
      ]);
    },
  );

  test('configured access is required, also beyond loopback', () => {
    const { web } = load(`${REGION}web:
  listen: ":9465"
  auth:
    tokens: [{ name: grafana, token: "12345678", scopes: [read, metrics] }, { token: "87654321", scopes: [write] }]
    users: { anna: { password_hash: "${HASH}", scopes: [read] } }
    proxy: { trusted: [10.1.0.0/16, "fd00::/8"] }
`);
    expect(web.access?.tokens).toMatchObject([
      { name: 'grafana', scopes: new Set(['read', 'metrics']) },
      { name: 'token 2', scopes: new Set(['write']) },
    ]);
    expect([...web.access!.users]).toMatchObject([['anna', { scopes: new Set(['read']) }]]);
    const trusts = web.access!.proxy!.isTrusted;
    expect(['10.1.2.3', '::ffff:10.1.2.3', 'fd12::1'].map(trusts)).toEqual([true, true, true]);
    expect(['10.2.0.1', '::1', '', 'x'].map(trusts)).toEqual([false, false, false, false]);
    expect(JSON.stringify(web)).not.toMatch(/1234567|8765432|scrypt/);
  });

  describe('the scopes of people who log in at a provider', () => {
    const given = (more: string) =>
      `${REGION}web: { external_url: "https://nestwatch.example.com", auth: { oidc: { issuer: "https://login.example.com", client_id: n${more} } } }\n`;

    testProblems(
      (more) => problemsOf(given(`, ${more}`)).map((line) => line.replace(/^\d+:\d+: web\.auth\.oidc\./, '')),
      [
        ['scopes: []', 'scopes: must name at least one of read, metrics, write, fly'],
        [
          'scopes: [], groups: { ops: [read] }',
          'scopes: must name at least one of read, metrics, write, fly',
        ],
        ['scopes: [raed]', 'scopes[0]: is no right; did you mean read?'],
        ['scopes: [read, Write]', 'scopes[1]: is no right; did you mean write?'],
        [
          'scopes: [groups]',
          'scopes: gives nobody a right: name one of read, metrics, write, fly, or give `groups`',
        ],
      ],
    );

    test.each([
      ['', ['read', 'write'], ''],
      [', scopes: [metrics]', ['metrics'], ''],
      [', groups: { ops: [read] }', [], ''],
      [', scopes: [groups], groups: { ops: [read] }', [], ' groups'],
    ])('%s', (more, scopes, asked) => {
      expect(load(given(more)).web.access?.oidc).toMatchObject({
        scopes: new Set(scopes),
        asked: `openid profile email${asked}`,
      });
    });
  });

  test('TLS needs both of its halves', () => {
    const tls = (text: string) =>
      problemsOf(`${REGION}web: { tls: ${text} }\n`).map((line) => line.replace(/^\d+:\d+: /, ''));
    expect(tls('{ cert: x }')).toEqual([
      'web.tls.key: is missing: give `key` or `key_file`',
      'web.tls.cert: must be a certificate in PEM (-----BEGIN CERTIFICATE-----)',
    ]);
  });
});
