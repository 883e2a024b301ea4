import type { Channels } from '../delivery/outbox.ts';
import { openTransport } from '../http/transport.ts';
import type { Clock } from '../time/clock.ts';
import { VERSION } from '../version.ts';
import { openEmailChannel } from './email/email-channel.ts';
import { openServiceChannels } from './services.ts';
import { openWebhookChannel } from './webhook/webhook-channel.ts';

/** All ways out, over real sockets; each is to be closed. */
export function openChannels(clock: Clock): Channels {
  const options = { clock, version: VERSION, openTransport };
  return {
    webhook: openWebhookChannel(options),
    email: openEmailChannel(options),
    ...openServiceChannels(options),
  };
}

export async function closeChannels(channels: Channels): Promise<void> {
  await Promise.all(Object.values(channels).map((channel) => channel.close()));
}
