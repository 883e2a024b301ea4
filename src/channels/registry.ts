import { alertmanagerChannel } from './alertmanager/alertmanager-channel.ts';
import { browserChannel } from './browser/browser-channel.ts';
import type { Channel, ChannelOptions, OpenChannels } from './channel.ts';
import { discordChannel } from './chat/discord-channel.ts';
import { mattermostChannel } from './chat/mattermost-channel.ts';
import { pushoverChannel } from './chat/pushover-channel.ts';
import { rocketchatChannel } from './chat/rocketchat-channel.ts';
import { telegramChannel } from './chat/telegram-channel.ts';
import { webexChannel } from './chat/webex-channel.ts';
import { emailChannel } from './email/email-channel.ts';
import { pagerdutyChannel } from './incident/pagerduty-channel.ts';
import { victoropsChannel } from './incident/victorops-channel.ts';
import type { Integration } from './receiver.ts';
import { slackChannel } from './slack/slack-channel.ts';
import { teamsChannel } from './teams/teams-channel.ts';
import { webhookChannel } from './webhook/webhook-channel.ts';

/**
 * All channels. A receiver's integrations are in this order, and the positions that deliveries remember follow from it:
 * so a new channel goes last.
 */
export const CHANNELS: readonly Channel[] = [
  emailChannel,
  webhookChannel,
  slackChannel,
  teamsChannel,
  pagerdutyChannel,
  alertmanagerChannel,
  discordChannel,
  mattermostChannel,
  rocketchatChannel,
  telegramChannel,
  webexChannel,
  pushoverChannel,
  victoropsChannel,
  browserChannel,
];

const BY_KIND = new Map(CHANNELS.map((channel) => [channel.kind, channel]));

export function channelOf({ kind }: Pick<Integration, 'kind'>): Channel {
  const channel = BY_KIND.get(kind);
  if (!channel) throw new Error(`no channel has the kind ${kind}`);
  return channel;
}

/** The key of a receiver that lists the integrations of a channel. */
export function configsKey({ kind }: Channel): string {
  return `${kind}_configs`;
}

/** Opens all channels. They must be closed with `closeChannels`. */
export function openChannels(options: ChannelOptions): OpenChannels {
  return Object.fromEntries(CHANNELS.map((channel) => [channel.kind, channel.open(options)]));
}

export async function closeChannels(channels: OpenChannels): Promise<void> {
  await Promise.all(Object.values(channels).map((channel) => channel?.close()));
}
