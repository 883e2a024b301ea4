import { createDecipheriv, createECDH, hkdfSync, randomBytes } from 'node:crypto';

/** A browser's side of Web Push: its keys, and the decryption of what it is sent (RFC 8188 and 8291). */
export function createBrowser() {
  const own = createECDH('prime256v1');
  const publicKey = own.generateKeys();
  const auth = randomBytes(16);

  function decrypted(sent: Uint8Array): unknown {
    const bytes = Buffer.from(sent);
    const salt = bytes.subarray(0, 16);
    const keyLength = bytes[20]!;
    const sender = bytes.subarray(21, 21 + keyLength);
    const record = bytes.subarray(21 + keyLength);
    const info = Buffer.concat([Buffer.from('WebPush: info\0'), publicKey, sender]);
    const shared = derived(own.computeSecret(sender), auth, info, 32);
    const key = derived(shared, salt, Buffer.from('Content-Encoding: aes128gcm\0'), 16);
    const nonce = derived(shared, salt, Buffer.from('Content-Encoding: nonce\0'), 12);
    const cipher = createDecipheriv('aes-128-gcm', key, nonce).setAuthTag(record.subarray(-16));
    const padded = Buffer.concat([cipher.update(record.subarray(0, -16)), cipher.final()]);
    return JSON.parse(padded.subarray(0, padded.lastIndexOf(2)).toString('utf8'));
  }

  return { keys: { p256dh: publicKey.toString('base64url'), auth: auth.toString('base64url') }, decrypted };
}

const derived = (secret: Buffer, salt: Buffer, info: Buffer, length: number) =>
  Buffer.from(hkdfSync('sha256', secret, salt, info, length));
