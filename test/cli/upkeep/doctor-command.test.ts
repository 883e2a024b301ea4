import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { expect, test } from 'vitest';
import { openService, TOKEN } from '../service.ts';
import { containing, done, nestwatch, refused, tempFile } from '../test-io.ts';

interface DoctorTest {
  readonly token?: string;
  readonly base?: string;
  readonly store?: string;
  readonly more?: readonly string[];
  readonly columns?: number;
}

async function doctor(
  receiver: string,
  { token = TOKEN, base = '', store = ':memory:', more = [], ...terminal }: DoctorTest = {},
) {
  const { url } = await openService();
  const file = tempFile(
    'n.yaml',
    `regions: { eu: { base_url: "${base || url}", token: '${token}' } }
store: { url: "sqlite:${store}" }
receivers: [{ name: ops, webhook_configs: [{ url: "${receiver}" }] }]
route: { receiver: ops }
`,
  );
  return nestwatch(['doctor', '--watch', '1s', '--config.file', file, ...more], terminal);
}

test('breaks what it says between words at 80 columns', async () => {
  const { url } = await openService();
  const { stdout } = await doctor(url, { columns: 80 });
  expect(stdout.split('\n').filter((line) => line.length > 80)).toEqual([]);
  expect(stdout).toMatch(/^ {8}assumed: .*\n {10}\S/m);
});

test('says for each region, the store and the receivers what was found, what is assumed and what to do', async () => {
  const { url } = await openService();
  const { exit, stdout, stderr } = await doctor(url);
  expect({ exit, stderr }).toEqual({ exit: 0, stderr: '' });
  expect(stdout).toMatch(
    /^region eu\n {2}ok {4}token: it reads 1 Nest; 2 Birds in the first 1\n {8}assumed: the token reads every Nest that is watched\n/,
  );
  expect(stdout).toMatch(
    /\nstore\n {2}note {2}file: it is in memory and ends with the process\n.*\n {8}do: Set store\.url: sqlite:FILE/,
  );
  expect(stdout).toMatch(
    /\nreceivers\n {2}ok {4}receiver ops, webhook 1: it can be reached\n {8}assumed: what it refuses is tried three times, /,
  );
  expect(stdout).not.toContain(TOKEN);
});

test('exits 4 if a region or receiver cannot be used, and --json says the same', async () => {
  const unreached = await doctor('http://127.0.0.1:1/x');
  expect(unreached.exit).toBe(4);
  expect(unreached.stdout).toContain(
    `  BAD   receiver ops, webhook 1: no answer from 127.0.0.1:1: it refused the connection
        assumed: what it refuses is tried three times, and what it does not accept otherwise for 72 h
        do: No connection: check the address, DNS, firewall and TLS certificate. Then try it: nestwatch test-receiver ops
`,
  );
  const refused = await doctor('http://127.0.0.1:1/x', { token: 'another', more: ['--json'] });
  expect(refused.exit).toBe(4);
  const { findings } = JSON.parse(refused.stdout);
  expect(findings[0]).toMatchObject({ of: 'region eu', about: 'token', state: 'bad' });
  expect(findings.at(-1)).toMatchObject({ of: 'receivers', state: 'bad' });
});

test('says which address does not answer with the Nests if the path of base_url is wrong', async () => {
  const { url } = await openService();
  const wrong = url.replace('/api-rest', '/wrong');
  const { exit, stdout } = await doctor(url, { base: wrong });
  expect(exit).toBe(4);
  expect(stdout).toContain('  BAD   inventory: searchNests of eu: the service answered 404\n');
  expect(stdout).toContain(`        do: Check regions.eu.base_url: GET ${wrong}/nests must answer with`);
});

test('exits 1 if the store can be neither made nor written at its place', async () => {
  const { url } = await openService();
  const file = tempFile('a-file', '');
  const below = await doctor(url, { store: `${file}/s.db` });
  expect(below.exit).toBe(1);
  expect(below.stdout).toContain(`\nstore\n  BAD   file: ${file} is not a directory\n`);
  expect(below.stdout).toContain('\n        do: Correct store.url, or what is in its way.\n');
  const folder = await doctor(url, { store: dirname(file) });
  expect(folder.exit).toBe(1);
  expect(folder.stdout).toContain(`  BAD   file: ${dirname(file)} is a directory\n`);
});

test('a store that is not there yet is made, with its directory', async () => {
  const { url } = await openService();
  const store = `${dirname(tempFile('n', ''))}/new/s.db`;
  expect(await doctor(url, { store })).toEqual(
    done(containing(`  ok    file: ${store} is not there yet and is made\n`)),
  );
  expect(existsSync(dirname(store))).toBe(false);
});

test('an invalid duration is wrong usage', async () => {
  expect(await nestwatch(['doctor', '--watch', 'long', '--config.file', tempFile('n.yaml', '')])).toEqual(
    refused(containing('--watch must be a duration such as 20s, not long')),
  );
});
