import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { SMTPServerOptions } from 'smtp-server';
import { expect, onTestFinished, test } from 'vitest';
import type { EmailIntegration } from '../../../src/channels/email/email-config.ts';
import { channelOf } from '../../../src/channels/registry.ts';
import { loadConfig } from '../../../src/config/load-config.ts';
import { makeAuthority, makeCertificate } from '../../http/certificates.ts';
import { openFolder } from '../../http/servers.ts';
import { delivery, group } from '../sample-notifications.ts';
import { accepting, openSmtp } from './open-smtp.ts';

function folder(): string {
  const { path, close } = openFolder();
  onTestFinished(close);
  makeAuthority(path, 'authority');
  makeAuthority(path, 'other');
  makeCertificate(path, 'authority', 'server', 'mail.example.com');
  makeCertificate(path, 'authority', 'client');
  return path;
}

/** A mail server with a certificate for mail.example.com, which counts its mails. */
async function mailServer(path: string, options: SMTPServerOptions = {}) {
  let mails = 0;
  const read = (name: string) => readFileSync(join(path, name), 'utf8');
  const { channel, port } = await openSmtp({
    ...{ disabledCommands: [], cert: read('server.pem'), key: read('server.key') },
    onData: accepting(() => {
      mails += 1;
    }),
    ...options,
  });

  function integrationOf(entry: string, global: string): EmailIntegration {
    const config = loadConfig({
      file: join(path, 'n.yaml'),
      text: `
regions: { eu: { base_url: https://eu.example.com/api-rest, token: t0 } }
global: { smtp_smarthost: "127.0.0.1:${port}", smtp_from: n@example.com, ${global} }
route: { receiver: ops }
receivers: [{ name: ops, email_configs: [{ to: ops@example.com, ${entry} }] }]
`,
      environment: {},
      readFile: (file) => readFileSync(file, 'utf8'),
    });
    return config.receivers[0]!.integrations[0] as EmailIntegration;
  }

  return {
    mails: () => mails,
    /** Sends a mail and connects for a test, which must agree. */
    async send(entry: string, global = ''): Promise<string> {
      const integration = integrationOf(entry, global);
      const { kind } = await channel.send(integration, delivery(), group(), '');
      const probe = channelOf(integration).probe(integration).run();
      expect(
        await probe.then(
          () => 'accepted',
          () => 'failed',
        ),
      ).toBe(kind);
      return kind;
    },
  };
}

const TRUSTED = 'ca_file: authority.pem, server_name: mail.example.com';

test.each([
  ['STARTTLS', {}, ''],
  ['TLS from the start', { secure: true }, 'force_implicit_tls: true'],
])(
  'a private authority and the name in the certificate are checked, with %s [long]',
  async (_, options, implicit) => {
    const { send, mails } = await mailServer(folder(), options);
    const implicitToo = implicit && `, ${implicit}`;
    expect(await send(implicit)).toBe('failed');
    expect(await send(`tls_config: { ca_file: authority.pem }${implicitToo}`)).toBe('failed');
    expect(
      await send(`tls_config: { ca_file: other.pem, server_name: mail.example.com }${implicitToo}`),
    ).toBe('failed');
    expect(await send(`tls_config: { ${TRUSTED} }${implicitToo}`)).toBe('accepted');
    const global = `smtp_tls_config: { ${TRUSTED} }${implicit && `, smtp_${implicit}`}`;
    expect(await send('', global)).toBe('accepted');
    // An entry's own replaces that of `global`.
    expect(await send('tls_config: { ca_file: authority.pem }', global)).toBe('failed');
    expect(await send('tls_config: { insecure_skip_verify: true }', global)).toBe('accepted');
    expect(mails()).toBe(3);
  },
);

test('a client certificate is shown, and one that was replaced too [long]', async () => {
  const path = folder();
  const ca = readFileSync(join(path, 'authority.pem'), 'utf8');
  const asking = { secure: true, requestCert: true, rejectUnauthorized: true, ca };
  const { send } = await mailServer(path, asking);
  const client = 'cert_file: client.pem, key_file: client.key';
  const entry = `tls_config: { ${TRUSTED}, ${client} }, force_implicit_tls: true`;
  expect(await send(`tls_config: { ${TRUSTED} }, force_implicit_tls: true`)).toBe('failed');
  expect(await send(entry)).toBe('accepted');
  makeCertificate(path, 'other', 'client');
  expect(await send(entry)).toBe('failed');
});

test('a TLS version older or newer than allowed is refused [long]', async () => {
  const { send } = await mailServer(folder(), { maxVersion: 'TLSv1.2' });
  expect(await send(`tls_config: { ${TRUSTED}, min_version: TLS13 }`)).toBe('failed');
  expect(await send(`tls_config: { ${TRUSTED}, min_version: TLS12 }`)).toBe('accepted');
});
