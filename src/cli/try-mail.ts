import { createTransport } from 'nodemailer';
import { smtpOptions } from '../channels/email/email-channel.ts';
import type { EmailIntegration } from '../config/config.ts';
import { plainText } from '../text/plain-text.ts';

const TIMEOUT_MS = 10_000;
const MAX_REASON_CODE_POINTS = 300;

/** Connects, encrypts and logs in as a mail would, and ends there: nothing is sent. Rejects where that fails. */
export async function tryMail(email: EmailIntegration): Promise<void> {
  const transport = createTransport({
    ...smtpOptions(email),
    connectionTimeout: TIMEOUT_MS,
    greetingTimeout: TIMEOUT_MS,
    socketTimeout: TIMEOUT_MS,
  });
  try {
    await transport.verify();
  } finally {
    transport.close();
  }
}

/** Mail servers and TLS say what is wrong in words; addresses in them are those of the configuration. */
export function reasonOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return reasonOf(error.errors[0]);
  return plainText(error instanceof Error ? error.message : String(error), MAX_REASON_CODE_POINTS);
}
