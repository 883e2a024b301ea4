/** Warns about credentials that others can read on their way, or guess. */
import type { Integration } from '../channels/receiver.ts';
import { type Check, givenKey } from '../document/check.ts';
import type { Path } from '../document/problem.ts';
import type { HttpSettings } from '../http/http-settings.ts';
import { isLoopback, parseRange } from '../http/web-address.ts';
import { isSecret, type Secret, secretsIn } from '../secret.ts';
import type { Config } from './config.ts';
import { isLocal } from './sections/store-section.ts';

export function findExposures(check: Check, config: Config): void {
  for (const section of ['regions', 'global', 'receivers', 'heartbeat', 'web']) visit(check, [section]);
  findBareIntegrations(check, config);
  if (config.heartbeat && isBare(config.heartbeat.url)) {
    check.problem(
      givenKey(check, ['heartbeat'], 'url'),
      'whoever reads this address on its way can keep the watchdog quiet: use https',
    );
  }
  findBareStore(check, config);
  findOpenPage(check, config);
  findSameRegions(check, config);
}

/** Looks at all maps at and below a path. */
function visit(check: Check, path: Path): void {
  const value = check.raw(path);
  if (typeof value !== 'object' || value === null) return;
  if (!Array.isArray(value)) inspect(check, path);
  for (const [index, key] of Object.keys(value).entries())
    visit(check, [...path, Array.isArray(value) ? index : key]);
}

function inspect(check: Check, path: Path): void {
  const section = String(path.at(-1));
  const text = (key: string) => String(check.raw([...path, key]));
  const proxy = check.secret(path, 'proxy_url', {});
  if (proxy && /^(?!https)[^/]+:\/\/[^/]+@/i.test(proxy.reveal()) && isRemote(proxy.reveal())) {
    const message = "the proxy's password goes there unencrypted: use https, if the proxy offers it";
    check.problem(givenKey(check, path, 'proxy_url'), message);
  }
  if (section === 'oauth2' && isBare(text('token_url'))) {
    check.problem([...path, 'token_url'], "the client's secret goes there unencrypted: use https");
  }
  if (!/(?:^|_)tls(?:_config)?$/.test(section)) return;
  for (const key of ['min_version', 'max_version']) {
    if (/^TLS1[01]$/.test(text(key))) {
      check.problem([...path, key], 'is a version of TLS that is broken: use TLS12 or a later one');
    }
  }
  // For regions and mails, see `warnings.ts`.
  const isOfOthers =
    path[0] !== 'regions' && !path.includes('email_configs') && section !== 'smtp_tls_config';
  if (isOfOthers && text('insecure_skip_verify') === 'true') {
    check.problem(
      [...path, 'insecure_skip_verify'],
      'anyone on the network path can read what is sent, including credentials: set the trusted certificate as `ca_file` instead',
    );
  }
}

/** Their address need not be a key, unlike those of all other channels. */
const OWN_ENDPOINTS: ReadonlySet<string> = new Set(['webhook', 'alertmanager']);

function findBareIntegrations(check: Check, { receivers }: Config): void {
  for (const [at, { integrations }] of receivers.entries()) {
    const counts = new Map<string, number>();
    for (const integration of integrations as readonly PostedTo[]) {
      const { kind, url, http, secret } = integration;
      const index = counts.get(kind) ?? 0;
      counts.set(kind, index + 1);
      const path = ['receivers', at, `${kind}_configs`, index];
      if (secret && isGuessable(secret)) check.problem(givenKey(check, path, 'secret'), GUESSABLE);
      if (!url || !isBare(url)) continue;
      const sent = secretsIn([http?.credentials, http?.headers]);
      if (OWN_ENDPOINTS.has(kind) && sent.length === 0 && new URL(url.reveal()).search === '') continue;
      check.problem(path, 'credentials go there unencrypted: use https');
    }
  }
}

/** What this file knows of integrations that are posted to an address. */
interface PostedTo extends Integration {
  readonly url?: Secret;
  readonly http?: HttpSettings;
  /** Signs messages. */
  readonly secret?: Secret | null;
}

function findBareStore(check: Check, { store: { postgres } }: Config): void {
  if (!postgres?.password) return;
  if (postgres.hosts.every(({ host }) => isLocal(host))) return;
  if (postgres.sslmode === 'disable') {
    check.problem(['store', 'url'], 'the password goes there unencrypted: leave out `sslmode=disable`');
  } else if (postgres.sslmode === 'require' && postgres.sslrootcert === undefined) {
    check.problem(
      ['store', 'url'],
      'anyone on the network path can pose as the server and get the password: leave out `sslmode`, or add `sslrootcert`',
    );
  }
}

const GUESSABLE = 'is easy to guess: use at least 16 random characters';

function isGuessable(secret: Secret): boolean {
  const text = secret.reveal().replace(/^whsec_/, '');
  return text.length < 16 || new Set(text).size < 6;
}

/** The most addresses that a proxy may reasonably have. */
const LEAST_BITS = 8;

function findOpenPage(check: Check, { web }: Config): void {
  const { bearerToken, access, externalUrl, hasDefaultUrl } = web;
  const at = ['web', 'auth'];
  if (bearerToken && isGuessable(bearerToken)) check.problem(givenKey(check, at, 'bearer_token'), GUESSABLE);
  for (const [index, { token }] of (access?.tokens ?? []).entries()) {
    if (isGuessable(token)) check.problem(givenKey(check, [...at, 'tokens', index], 'token'), GUESSABLE);
  }
  if ((bearerToken || access) && !hasDefaultUrl && isBare(externalUrl)) {
    check.problem(
      ['web', 'external_url'],
      'passwords and tokens go there unencrypted: serve https by `web.tls` or a proxy, and write https here',
    );
  }
  const trusted = check.raw([...at, 'proxy', 'trusted']);
  for (const [index, text] of (Array.isArray(trusted) ? trusted : []).entries()) {
    const range = parseRange(String(text));
    if (range && range.bits < LEAST_BITS) {
      check.problem(
        [...at, 'proxy', 'trusted', index],
        'everybody at so many addresses can be anybody: name the addresses of the proxy',
      );
    }
  }
}

/** One instance under two names would be read and told twice. */
function findSameRegions(check: Check, { regions }: Config): void {
  const known = new Map<string, string>();
  for (const { name, baseUrl, token } of regions) {
    const key = JSON.stringify([baseUrl, token.reveal()]);
    const same = known.get(key);
    if (same !== undefined) {
      const message = `is watched as ${same} already, with the same token: everything would be told twice`;
      check.problem(['regions', name, 'base_url'], message);
    }
    known.set(key, name);
  }
}

/** Whether what is sent to this address leaves the machine unencrypted. */
function isBare(address: string | Secret): boolean {
  const text = isSecret(address) ? address.reveal() : address;
  return /^http:/i.test(text) && isRemote(text);
}

function isRemote(address: string): boolean {
  const url = URL.parse(address);
  return url !== null && !isLoopback(url.hostname);
}
