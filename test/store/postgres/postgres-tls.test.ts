/**
 * A server that is reached over a network: encrypted, with a password, and refused if its certificate does not match.
 */
import { chmodSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { secret } from '../../../src/secret.ts';
import { lookAtServer } from '../../../src/store/postgres/look-at-server.ts';
import { openPostgresStore } from '../../../src/store/postgres/postgres-store.ts';
import { STEPS } from '../../../src/store/versions/steps.ts';
import { makeAuthority, makeCertificate } from '../../http/certificates.ts';
import { createVirtualClock } from '../../virtual-clock.ts';
import { failure } from '../test-store.ts';
import {
  findServer,
  ownedByServer,
  type PlaceChanges,
  type PostgresServer,
  placeAt,
  startServer,
} from './postgres-server.ts';

const bin = findServer();
const PASSWORD = 'correct horse';

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

describe.skipIf(bin === undefined)('PostgreSQL over a network', () => {
  const folder = mkdtempSync(join(tmpdir(), 'nestwatch-pg-tls-'));
  let server: PostgresServer;
  let port = 0;

  beforeAll(async () => {
    port = await freePort();
    for (const name of ['own', 'other']) makeAuthority(folder, name);
    for (const name of ['server', 'badge', 'other-badge']) makeCertificate(folder, 'own', name);
    writeFileSync(
      join(folder, 'hba'),
      'hostssl all badge 127.0.0.1/32 cert\nhostssl all all 127.0.0.1/32 scram-sha-256\nlocal all all trust\n',
    );
    chmodSync(folder, 0o755);
    for (const name of readdirSync(folder))
      chmodSync(join(folder, name), name.endsWith('.key') ? 0o600 : 0o644);
    ownedByServer(join(folder, 'server.key'));
    server = await startServer(bin!, [
      ...['listen_addresses=127.0.0.1', `port=${port}`, 'ssl=on', `hba_file=${folder}/hba`],
      ...[
        `ssl_cert_file=${folder}/server.pem`,
        `ssl_key_file=${folder}/server.key`,
        `ssl_ca_file=${folder}/own.pem`,
      ],
    ]);
    const admin = new pg.Client({ host: server.host, port, user: 'nestwatch', database: 'postgres' });
    await admin.connect();
    await admin.query(`ALTER ROLE nestwatch PASSWORD '${PASSWORD}'; CREATE ROLE badge LOGIN SUPERUSER`);
    await admin.end();
  }, 60_000);
  afterAll(async () => {
    await server?.remove();
    rmSync(folder, { recursive: true });
  });

  const clock = createVirtualClock();
  const trusting = (name: string) => ({ sslrootcert: join(folder, `${name}.pem`) });
  const badge = (name: string) => ({
    ...{ user: 'badge', password: null },
    ...{ sslcert: join(folder, `${name}.pem`), sslkey: join(folder, `${name}.key`) },
  });
  const place = (changes: PlaceChanges) =>
    placeAt(`postgres://nestwatch@localhost:${port}/postgres?sslmode=verify-full`, {
      password: secret(PASSWORD),
      ...changes,
    });

  const OWN = trusting('own');
  const OTHER = trusting('other');
  const BY_ADDRESS = { host: '127.0.0.1' };
  const ENCRYPTED = { sslmode: 'require' } as const;
  const AUTHORIZED = { sslmode: 'verify-ca' } as const;

  test.each([
    ['to a server with a valid certificate', OWN],
    ['to a server with a trusted authority and another name', { ...OWN, ...BY_ADDRESS, ...AUTHORIZED }],
    ['as the user of a certificate', { ...OWN, ...badge('badge') }],
    ['to any server, if configured', { ...ENCRYPTED, sslrootcert: undefined }],
    ['to a server with a trusted authority, if no more is configured', { ...OWN, ...ENCRYPTED }],
  ] as const)('a connection is encrypted %s [long]', async (_, changes) => {
    const { store } = await openPostgresStore({ place: place({ ...OWN, ...changes }), clock });
    expect(await store.transaction((tx) => tx.inventory.nests('eu'))).toEqual([]);
    await store.close();
    expect(await lookAtServer(place(changes))).toMatchObject({ isEncrypted: true, schema: STEPS.length });
  });

  const SELF_SIGNED = /cannot be reached: self-signed certificate in/;
  const ANY_OTHER = 'to one of another authority than the one that is named, whatever is asked for';

  test.each([
    ['to one of an authority that is not known', OTHER, SELF_SIGNED],
    [ANY_OTHER, { ...OTHER, ...ENCRYPTED }, SELF_SIGNED],
    ['to one that is called otherwise', { ...OWN, ...BY_ADDRESS }, /does not match certificate/],
    ['without encryption, if the server requires it', { sslmode: 'disable' }, /refuses the user/],
    ['with the certificate of another user', { ...OWN, ...badge('other-badge') }, /refuses the user/],
    ['with a certificate that is not there', { ...OWN, ...badge('none') }, /no such file.*none\.pem/],
    ['with another password', { ...OWN, password: secret('wrong') }, /refuses the password/],
  ] as const)('there is no connection %s', async (_, changes, message) => {
    const opening = openPostgresStore({ place: place(changes), clock });
    await expect(opening).rejects.toMatchObject(failure('store_down', message));
    await expect(opening).rejects.not.toMatchObject({ message: expect.stringContaining(PASSWORD) });
  });
});
