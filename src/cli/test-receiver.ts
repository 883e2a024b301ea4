import type { Config, Integration, Receiver } from '../config/config.ts';
import { formatHostPort } from '../config/host-port.ts';
import type { Channel, Outcome } from '../delivery/channels/channel.ts';
import { preview } from '../delivery/preview.ts';
import { sampleNotification } from '../delivery/sample.ts';
import { ERRORS, NestwatchError } from '../errors.ts';
import type { Edge } from './edge.ts';
import { closeChannels, openChannels } from './open-channels.ts';
import { findConfigFile, readConfig } from './read-config.ts';

export interface TestReceiverOptions {
  readonly configFile?: string | undefined;
  readonly resolved: boolean;
  /** Prints instead of sending. */
  readonly dryRun: boolean;
}

/** Sends a sample through every integration of a receiver, one after another, and tells how each of them took it. */
export async function testReceiver(edge: Edge, name: string, options: TestReceiverOptions): Promise<number> {
  const config = readConfig(edge, findConfigFile(edge, options.configFile));
  const receiver = receiverOf(config, name);
  if (options.dryRun) return printSamples(edge, config, receiver, options.resolved);
  const notification = sampleNotification(name, options.resolved, edge.clock.nowUs());
  const channels = openChannels(edge.clock);
  let exit = 0;
  try {
    for (const [position, integration] of receiver.integrations.entries()) {
      const label = labelOf(integration, position);
      if (isForMembersAlone(integration)) {
        edge.stdout.write(`${label}: not sent: it goes to the members of a Nest alone\n`);
        continue;
      }
      const delivery = {
        id: `${notification.id}-${position}`,
        notificationId: notification.id,
        receiver: name,
        integration: integration.kind,
        position,
        lane: '',
        state: 'leased' as const,
        attempts: 1,
        createdAtUs: notification.createdAtUs,
        nextAttemptAtUs: notification.createdAtUs,
        settledAtUs: 0,
        lastError: '',
      };
      const channel: Channel<Integration> = channels[integration.kind];
      const outcome = await channel.send(integration, delivery, notification, config.web.externalUrl);
      if (outcome.kind !== 'accepted') exit = ERRORS.rejected.exit;
      edge.stdout.write(`${label}: ${wordsOf(outcome)}\n`);
    }
  } finally {
    await closeChannels(channels);
  }
  return exit;
}

/** Prints what each integration would be sent, with its address; a template that fails exits 2. */
export function printSamples(edge: Edge, config: Config, receiver: Receiver, resolved: boolean): number {
  const notification = sampleNotification(receiver.name, resolved, edge.clock.nowUs());
  let exit = 0;
  for (const [position, integration] of receiver.integrations.entries()) {
    const { text, templateError } = preview(integration, notification, config.web.externalUrl);
    edge.stderr.write(`${labelOf(integration, position)}:\n`);
    edge.stdout.write(`${text}\n`);
    if (templateError === undefined) continue;
    edge.stderr.write(`${templateError}\n`);
    exit = ERRORS.config_invalid.exit;
  }
  return exit;
}

/** Throws `usage` for a name that no receiver with an integration has. */
export function receiverOf({ receivers }: Config, name: string): Receiver {
  const receiver = receivers.find((one) => one.name === name);
  if (!receiver) {
    const names = receivers.map((one) => one.name).join(', ');
    throw new NestwatchError('usage', `no receiver has the name ${name}; there is ${names}`);
  }
  if (receiver.integrations.length === 0) {
    throw new NestwatchError('usage', `receiver ${name} has no integrations: it tells nobody`);
  }
  return receiver;
}

function isForMembersAlone(integration: Integration): boolean {
  return integration.kind === 'email' && integration.to.length === 0;
}

function labelOf(integration: Integration, position: number): string {
  const where =
    integration.kind === 'email'
      ? `${integration.to.join(', ') || 'members of a Nest'} by ${formatHostPort(integration.smarthost)}`
      : hostOf(integration.url.reveal());
  return `${integration.kind} ${position + 1} (${where})`;
}

function hostOf(url: string): string {
  return URL.parse(url)?.host ?? 'no address';
}

function wordsOf(outcome: Outcome): string {
  switch (outcome.kind) {
    case 'accepted': {
      const notes = [outcome.note, outcome.templateError].filter(Boolean);
      return ['accepted', ...notes].join('; ');
    }
    case 'nothing':
      return `nothing to send: ${outcome.why}`;
    case 'unknown':
      return `perhaps accepted: ${outcome.error}`;
    default:
      return `not accepted: ${outcome.error}`;
  }
}
