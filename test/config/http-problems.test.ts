import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { makeAuthority } from '../http/certificates.ts';
import { openFolder } from '../http/servers.ts';
import { load, problemsOf, REGION, type Surroundings, testProblems } from './load.ts';

const AT = 'receivers[0].webhook_configs[0].http_config';

/** The problems of a webhook's `http_config`, without positions and the path to it. */
function problems(http: string, surroundings: Surroundings = {}): string[] {
  const text = `${REGION}route: { receiver: a }\nreceivers: [{ name: a, webhook_configs: [{ url: https://x, http_config: ${http} }] }]\n`;
  return problemsOf(text, surroundings).map((line) => line.replace(/^\d+:\d+: /, '').replace(AT, '…'));
}

describe('http_config', () => {
  testProblems(problems, [
    // Several credentials.
    [
      '{ authorization: { credentials: a }, basic_auth: { username: u }, oauth2: { client_id: a, client_secret: b, token_url: https://x } }',
      '….basic_auth: must not stand beside `authorization`: choose one',
      '….oauth2: must not stand beside `authorization`: choose one',
    ],
    [
      '{ authorization: { type: basic, credentials: a } }',
      '….authorization.type: must not be Basic: use `basic_auth`',
    ],
    [
      '{ authorization: { type: "a b", credentials: a } }',
      '….authorization.type: must be one word, such as Bearer',
    ],
    [
      '{ authorization: { credentials: "a\\nb" } }',
      '….authorization.credentials: must be one line without control characters',
    ],
    [
      '{ basic_auth: { password: a, password_file: /b } }',
      '….basic_auth.password_file: give either `password` or `password_file`, not both',
    ],
    ['{ basic_auth: { username: "a:b" } }', '….basic_auth.username: must not hold a colon'],
    // Half a client.
    [
      '{ oauth2: { scopes: [a] } }',
      '….oauth2.client_secret: is missing: give `client_secret` or `client_secret_file`',
      '….oauth2.client_id: is missing',
      '….oauth2.token_url: is missing',
    ],
    [
      '{ oauth2: { client_id: a, client_secret: b, token_url: login } }',
      '….oauth2.token_url: must be a URL that begins with http:// or https://',
    ],
    [
      '{ bearer_token: a }',
      '….bearer_token: is not supported by this version: write `authorization: { credentials_file: … }`',
    ],
    ['{ enable_http2: true }', '….enable_http2: must be false or left out: requests use HTTP/1.1'],
    [
      '{ proxy: a }',
      '….proxy: unknown key; known here: authorization, basic_auth, oauth2, proxy_url, proxy_url_file, no_proxy, proxy_from_environment, tls_config, follow_redirects, http_headers, enable_http2',
    ],
    [
      '{ proxy_url: "socks4://x" }',
      '….proxy_url: must be the URL of a proxy, which begins with http://, https:// or socks5://',
    ],
    ['{ proxy_url: "http://x/y" }', '….proxy_url: must end with the host and port'],
    [
      '{ proxy_url: "http://x", proxy_from_environment: true }',
      '….proxy_from_environment: must not stand beside `proxy_url`: choose one',
    ],
    ['{ proxy_url: "http://u:%zz@x" }', '….proxy_url: has a `%` that begins no escape: write `%25` for it'],
    ['{ no_proxy: x }', '….no_proxy: must not stand here: there is no `proxy_url`'],
    [
      '{ proxy_url: "http://p:1", no_proxy: "10.0.0.0/8/9, example.com" }',
      '….no_proxy: has a range that is none: write one as 10.0.0.0/8',
    ],
    [
      '{ no_proxy: x, proxy_from_environment: true }',
      '….no_proxy: must not stand here: the environment has NO_PROXY',
    ],
    // A header that is not theirs.
    [
      '{ http_headers: { Host: { values: [a] }, "a b": { values: [a] } } }',
      '….http_headers.Host: must not be set: nestwatch sets it itself',
      '….http_headers["a b"]: is not the name of a header',
    ],
    [
      '{ http_headers: { X-A: { values: ["a\\r\\nX-B: c"] } } }',
      '….http_headers.X-A.values[0]: must be one line without control characters',
    ],
    ['{ http_headers: { X-A: { files: [/gone] } } }', '….http_headers.X-A.files[0]: /gone does not exist'],
    // Texts that are no certificates.
    [
      '{ tls_config: { ca: a, cert: b, key: c } }',
      '….tls_config.ca: must be a certificate in PEM (-----BEGIN CERTIFICATE-----)',
      '….tls_config.cert: must be a certificate in PEM (-----BEGIN CERTIFICATE-----)',
      '….tls_config.key: must be a private key in PEM without a passphrase (-----BEGIN PRIVATE KEY-----)',
    ],
    [
      '{ tls_config: { min_version: TLS13, max_version: TLS12 } }',
      '….tls_config.max_version: must not be older than `min_version`',
    ],
    [
      '{ tls_config: { min_version: SSL3 } }',
      '….tls_config.min_version: must be one of TLS10, TLS11, TLS12, TLS13',
    ],
  ]);

  test('a key that does not belong to its certificate, or has none', () => {
    const folder = openFolder();
    onTestFinished(() => folder.close());
    for (const name of ['own', 'other']) makeAuthority(folder.path, name);
    const read = (name: string) => readFileSync(join(folder.path, name), 'utf8');
    const files = { '/cert': read('own.pem'), '/key': read('own.key'), '/other': read('other.key') };
    expect(problems('{ tls_config: { cert_file: /cert, key_file: /key } }', { files })).toEqual([]);
    expect(problems('{ tls_config: { cert_file: /cert, key_file: /other } }', { files })).toEqual([
      '….tls_config.key_file: is not the key of the certificate beside it',
    ]);
    expect(problems('{ tls_config: { cert_file: /cert } }', { files })).toEqual([
      '….tls_config.key: is missing: `cert` needs `key` or `key_file`',
    ]);
    expect(problems('{ tls_config: { key_file: /key } }', { files })).toEqual([
      '….tls_config.cert: is missing: `key` needs `cert` or `cert_file`',
    ]);
  });

  test('an invalid proxy from the environment is named, and not quoted', () => {
    const environment = { HTTPS_PROXY: 'socks4://user:canary@x' };
    expect(problems('{ proxy_from_environment: true }', { environment })).toEqual([
      '….proxy_from_environment: HTTPS_PROXY of the environment must be the URL of a proxy, which begins with http://, https:// or socks5://',
    ]);
  });

  test('the same applies to global, a region, mails and the heartbeat', () => {
    const text = `regions: { eu: { base_url: https://x, token: t, proxy_url: "ftp://x", tls_config: { ca: x } } }
global: { http_config: { no_proxy: x }, smtp_tls_config: { min_version: SSL3 } }
route: { receiver: a }
receivers: [{ name: a, email_configs: [{ to: a@b.c, from: a@b.c, smarthost: "m.x:25", tls_config: { cert: x } }] }]
heartbeat: { url: https://x, http_config: { basic_auth: { username: "a:b" } } }
`;
    expect(problemsOf(text).map((line) => line.replace(/^\d+:\d+: /, ''))).toEqual([
      'regions.eu.proxy_url: must be the URL of a proxy, which begins with http://, https:// or socks5://',
      'regions.eu.tls_config.ca: must be a certificate in PEM (-----BEGIN CERTIFICATE-----)',
      'global.http_config.no_proxy: must not stand here: there is no `proxy_url`',
      'global.smtp_tls_config.min_version: must be one of TLS10, TLS11, TLS12, TLS13',
      'receivers[0].email_configs[0].tls_config.key: is missing: `cert` needs `key` or `key_file`',
      'receivers[0].email_configs[0].tls_config.cert: must be a certificate in PEM (-----BEGIN CERTIFICATE-----)',
      'heartbeat.http_config.basic_auth.username: must not hold a colon',
    ]);
  });

  test('an empty one changes nothing', () => {
    const text = (http: string) =>
      `${REGION}route: { receiver: a }\nreceivers: [{ name: a, webhook_configs: [{ url: https://x, http_config: ${http} }] }]\n`;
    expect(load(text('{}')).receivers[0]!.integrations[0]).toMatchObject({
      http: { headers: [], followRedirects: false },
    });
    expect(load(text('')).receivers[0]!.integrations[0]).not.toHaveProperty('http');
  });
});
