import type { Clock } from '../clock.ts';
import { openEmailChannel } from '../delivery/channels/email.ts';
import { openServiceChannels } from '../delivery/channels/services.ts';
import { openWebhookChannel } from '../delivery/channels/webhook.ts';
import type { Channels } from '../delivery/outbox.ts';
import { openTransport } from '../transport.ts';
import { VERSION } from './version.ts';

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
