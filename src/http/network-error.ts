/** Says what went wrong in the network, in words for people, by the codes of the system, Node and undici. */

const NO_ROUTE = 'no way through the network leads to it';
const BROKEN = 'the connection broke';
const CLOSED = 'it closed the connection';
const LATE = 'it did not accept the connection in time';
const NO_HTTP = 'its answer is no HTTP';
const UNTRUSTED = 'nobody who is trusted here signed its certificate';

/** Each is a clause about the other side. */
const WORDS: ReadonlyMap<string, string> = new Map([
  ['ECONNREFUSED', 'it refused the connection'],
  ['ECONNRESET', CLOSED],
  ['ECONNABORTED', BROKEN],
  ['EPIPE', BROKEN],
  ['ETIMEDOUT', LATE],
  ['ENOTFOUND', 'its name is not known'],
  ['EAI_AGAIN', 'its name could not be looked up'],
  ['EHOSTUNREACH', NO_ROUTE],
  ['ENETUNREACH', NO_ROUTE],
  ['EPROTO', 'it does not speak TLS there'],
  ['ERR_SSL_WRONG_VERSION_NUMBER', 'it does not speak TLS there'],
  ['CERT_HAS_EXPIRED', 'its certificate has expired'],
  ['ERR_TLS_CERT_ALTNAME_INVALID', 'its certificate is for another name'],
  ['DEPTH_ZERO_SELF_SIGNED_CERT', UNTRUSTED],
  ['SELF_SIGNED_CERT_IN_CHAIN', UNTRUSTED],
  ['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', UNTRUSTED],
  ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', UNTRUSTED],
  ['UND_ERR_CONNECT_TIMEOUT', LATE],
  ['UND_ERR_SOCKET', CLOSED],
  ['UND_ERR_DESTROYED', BROKEN],
  ['UND_ERR_HEADERS_OVERFLOW', 'the headers of its answer are too long'],
  ['UND_ERR_RES_CONTENT_LENGTH_MISMATCH', NO_HTTP],
  // undici gives this one no code.
  ['HTTPParserError', NO_HTTP],
]);

/** A message of OpenSSL, with the place in its source. */
const TLS_ERROR = /\b[0-9A-F]+:error:[0-9A-F]+:SSL routines:\w*:([^:]+):.*$/s;
/** What nodemailer says of a server that is silent after the connection, such as one for HTTP. */
const NO_GREETING = /^Greeting never received$/;
const SYSTEM_ERROR = /\b(?:connect|read|write|getaddrinfo) ([A-Z_]+)(?: (\S+))?/;

/**
 * A message of the system, OpenSSL or nodemailer, such as `connect ECONNREFUSED 192.0.2.1:25`, in words; others
 * unchanged.
 */
export function inNetworkWords(text: string): string {
  return text
    .replace(NO_GREETING, 'it does not answer as a mail server')
    .replace(TLS_ERROR, (_, reason) =>
      reason === 'wrong version number'
        ? 'the server does not speak TLS at this port'
        : `TLS failed: ${reason}`,
    )
    .replace(SYSTEM_ERROR, (_, code, place) =>
      place === undefined ? networkErrorWords(code) : `no answer from ${place}: ${networkErrorWords(code)}`,
    );
}

/** A clause about the other side; for a code without words one that contains the code. */
export function networkErrorWords(code: string): string {
  return WORDS.get(code) ?? (code.startsWith('HPE_') ? NO_HTTP : `the connection failed (${code})`);
}
