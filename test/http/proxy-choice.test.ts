import { describe, expect, test } from 'vitest';
import { proxyFor } from '../../src/http/http-settings.ts';
import { secret } from '../../src/secret.ts';

const http = secret('http://plain.example.com:3128');
const https = secret('http://tls.example.com:3128');

describe('the proxy of a request', () => {
  test('is chosen by the scheme', () => {
    const proxy = (url: string) => proxyFor(new URL(url), { http, https });
    expect(proxy('http://a.example')).toBe('http://plain.example.com:3128');
    expect(proxy('https://a.example')).toBe('http://tls.example.com:3128');
    expect(proxyFor(new URL('https://a.example'), { http })).toBeUndefined();
    // Whoever sets a proxy without exceptions wants it used for this machine, too.
    expect(proxy('http://127.0.0.1')).toBe('http://plain.example.com:3128');
  });

  // As golang.org/x/net/http/httpproxy decides.
  test.each([
    ['', 'http://a.example', 'proxy'],
    ['', 'http://localhost', 'direct'],
    ['', 'http://127.1.2.3', 'direct'],
    ['', 'http://[::1]:80', 'direct'],
    ['*', 'http://a.example', 'direct'],
    ['a.example', 'http://a.example', 'direct'],
    ['a.example', 'http://A.example.', 'direct'],
    ['a.example', 'http://b.a.example', 'direct'],
    ['a.example', 'http://ba.example', 'proxy'],
    ['.a.example', 'http://b.a.example', 'direct'],
    ['*.a.example', 'http://b.a.example', 'direct'],
    ['.a.example', 'http://a.example', 'proxy'],
    ['a.example:80', 'http://a.example', 'direct'],
    ['a.example:443', 'http://a.example', 'proxy'],
    ['a.example:443', 'https://a.example', 'direct'],
    ['x.example, a.example', 'http://a.example', 'direct'],
    ['10.1.2.3', 'http://10.1.2.3:9093', 'direct'],
    ['10.1.2.3:80', 'http://10.1.2.3:9093', 'proxy'],
    ['10.0.0.0/8', 'http://10.1.2.3', 'direct'],
    ['10.0.0.0/8', 'http://11.1.2.3', 'proxy'],
    ['10.0.0.0/99', 'http://10.1.2.3', 'proxy'],
    ['10.0.0.0/8', 'http://[fd00::1]', 'proxy'],
    ['fd00::/8', 'http://[fd00::1]', 'direct'],
    ['fd00::1', 'http://[fd00::1]', 'direct'],
    ['fd00:0:0:0:0:0:0:1', 'http://[fd00::1]', 'direct'],
    ['FD00::0001', 'http://[fd00::1]', 'direct'],
    ['[fd00:0::1]:80', 'http://[fd00::1]', 'direct'],
    ['fd00::2', 'http://[fd00::1]', 'proxy'],
    ['fd00::1%eth0', 'http://[fd00::1]', 'proxy'],
    ['[fd00::1]:80', 'http://[fd00::1]', 'direct'],
    ['[fd00::1]:81', 'http://[fd00::1]', 'proxy'],
    [',,', 'http://a.example', 'proxy'],
  ])('with no_proxy "%s" %s is reached %s', (noProxy, url, way) => {
    expect(proxyFor(new URL(url), { http, https, noProxy })).toBe(
      way === 'direct'
        ? undefined
        : url.startsWith('https')
          ? 'http://tls.example.com:3128'
          : 'http://plain.example.com:3128',
    );
  });
});
