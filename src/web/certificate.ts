/** Serves the certificate of the daemon's HTTPS, whose files may be replaced at runtime. */
import type { Server } from 'node:http';
import type { Server as TlsServer } from 'node:tls';
import type { ServerTls } from '../http/http-settings.ts';
import type { Report } from '../report.ts';

interface CertificateOptions {
  readonly cert: string;
  readonly key: string;
  readonly minVersion?: NonNullable<ServerTls['minVersion']>;
}

/** The server's options. This reads the files. */
export function certificateOf({ cert, key, minVersion }: ServerTls): CertificateOptions {
  return { cert: cert.reveal(), key: key.reveal(), ...(minVersion && { minVersion }) };
}

/**
 * Compares the files at each new connection, before its handshake. While only one of them has been replaced they do
 * not match; then the previous certificate stays in use until they do.
 */
export function watchCertificate(server: Server, tls: () => ServerTls, report: Report): void {
  let used = JSON.stringify(certificateOf(tls()));
  let refused = '';
  server.prependListener('connection', () => {
    const options = certificateOf(tls());
    const found = JSON.stringify(options);
    if (found === used || found === refused) return;
    try {
      (server as unknown as TlsServer).setSecureContext(options);
      used = found;
    } catch (error) {
      refused = found;
      report({ what: 'trouble', stage: 'web', error });
    }
  });
}
