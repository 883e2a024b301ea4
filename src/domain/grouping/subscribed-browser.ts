/** Browsers that people subscribed to a receiver, and where messages for them may be sent. */

export interface SubscribedBrowser {
  /** Follows from the endpoint, so that a browser that subscribes again replaces its subscription. */
  readonly id: string;
  readonly receiver: string;
  /** Who subscribed it; empty if nobody logs in. */
  readonly person: string;
  /** Names it for people: `Firefox on Linux`. */
  readonly name: string;
  readonly subscribedAtUs: number;
  /** Where its push service takes messages for it, which only it can read. Nobody else may know it. */
  readonly endpoint: string;
  /** Its public key and secret (RFC 8291, 3.1), in base64url. */
  readonly p256dh: string;
  readonly auth: string;
}

/** The push services of Chrome and its kin, Firefox, Edge and Safari: hosts, and domains that begin with a dot. */
export const PUSH_SERVICES = [
  ...['fcm.googleapis.com', '.push.services.mozilla.com', '.notify.windows.com', '.push.apple.com'],
];

const MAX_ENDPOINT = 1_000;

/**
 * Whether messages may be sent there. The address comes from a browser, or from whoever says to be one: any other host
 * could be one that only this machine reaches. `further`: hosts, with a port other than 443, that are trusted as well.
 */
export function isPushEndpoint(endpoint: string, further: readonly string[]): boolean {
  const url = endpoint.length > MAX_ENDPOINT ? null : URL.parse(endpoint);
  if (url?.protocol !== 'https:' || url.username || url.password) return false;
  return [...PUSH_SERVICES, ...further].some((one) =>
    one.startsWith('.') ? url.host.endsWith(one) : url.host === one,
  );
}
