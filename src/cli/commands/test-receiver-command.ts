/** Sends or prints samples of what receivers, or one template, make of an alert. */
import type { Outcome } from '../../channels/channel.ts';
import { linksFrom, numberedName, traitsOf } from '../../channels/integration-identity.ts';
import { templateVariables } from '../../channels/message/render-texts.ts';
import type { Integration, Receiver } from '../../channels/receiver.ts';
import { channelOf, closeChannels, openChannels } from '../../channels/registry.ts';
import { sampleNotification } from '../../channels/sample.ts';
import type { Config } from '../../config/config.ts';
import { leftOutWords } from '../../domain/grouping/member-recipients.ts';
import { NestwatchError } from '../../errors.ts';
import { openAuthorizedTransport } from '../../http/authorized-transport.ts';
import type { Edge } from '../../process-io.ts';
import { compileTemplate, TemplateError, type TemplateUse } from '../../templates/liquid.ts';
import { SAMPLE_OF_SEVERAL, SAMPLE_VARIABLES } from '../../templates/variables.ts';
import { VERSION } from '../../version.ts';
import { type Answer, EXIT } from '../command-rows.ts';
import { type ConfigOptions, textOfFile } from '../config-file.ts';
import { configOf } from '../read-config.ts';
import { jsonText } from '../terminal-text.ts';
import { reasonOf } from './check-online.ts';

interface TestReceiverOptions extends ConfigOptions {
  readonly resolved: boolean;
  /** Whether to print instead of sending. */
  readonly dryRun: boolean;
  readonly json: boolean;
}

type Sent = Pick<Taken, 'outcome' | 'detail'>;

/** The result of one integration's sample. */
interface Taken {
  readonly integration: string;
  /** The recipient: addresses and a host, never a secret. */
  readonly to: string;
  readonly outcome: 'accepted' | 'partly_accepted' | 'not_accepted' | 'unknown' | 'nothing' | 'left_out';
  readonly detail: string;
}

/** Sends a sample through every integration of a receiver, one after another, and prints the results. */
export async function testReceiver(edge: Edge, name: string, options: TestReceiverOptions): Promise<number> {
  const config = configOf(edge, options);
  const receiver = receiverOf(config, name);
  if (options.dryRun) return printSamples(edge, config, receiver, options);
  const all: Taken[] = [];
  await sendSamples(edge, config, receiver, options.resolved, (integration, taken) => {
    all.push({ integration: integration.kind, to: whereOf(integration), ...taken });
    if (!options.json)
      edge.stdout.write(`${numberedName(receiver.integrations, integration)}: ${sentWords(taken)}\n`);
  });
  if (options.json) edge.stdout.write(jsonText(all));
  const isFine = all.every(({ outcome }) => outcome === 'accepted' || outcome === 'left_out');
  return isFine ? 0 : EXIT.upstream;
}

/** Sends a sample through every integration of a receiver, one after another. */
export async function sendSamples(
  edge: Edge,
  config: Config,
  { name, integrations }: Receiver,
  isResolved: boolean,
  say: (integration: Integration, taken: Sent) => void,
): Promise<void> {
  const notification = sampleNotification(name, isResolved, edge.clock.nowUs());
  const channels = openChannels({
    clock: edge.clock,
    version: VERSION,
    openTransport: openAuthorizedTransport,
  });
  try {
    for (const [position, integration] of integrations.entries()) {
      if (traitsOf(integration).nestMembers?.beside.length === 0) {
        say(integration, await triedForMembers(integration));
        continue;
      }
      const attempt = { id: `${notification.id}-${position}`, receiver: name, position };
      const channel = channels[integration.kind]!;
      const outcome = await channel.send(
        integration,
        attempt,
        notification,
        linksFrom(integration, config.web),
      );
      say(integration, takenAs(outcome));
    }
  } finally {
    await closeChannels(channels);
  }
}

/** Prints what each integration would send, with its address. If a template fails, it exits with 2. */
async function printSamples(
  edge: Edge,
  config: Config,
  receiver: Receiver,
  { resolved, json }: { readonly resolved: boolean; readonly json: boolean },
): Promise<number> {
  const notification = sampleNotification(receiver.name, resolved, edge.clock.nowUs());
  const samples = await Promise.all(
    receiver.integrations.map(async (integration) => {
      const address = linksFrom(integration, config.web);
      return { integration, ...(await channelOf(integration).preview(integration, notification, address)) };
    }),
  );
  if (json) {
    const all = samples.map(({ integration, text, templateError }) => ({
      integration: integration.kind,
      to: whereOf(integration),
      text,
      ...(templateError !== undefined && { template_error: templateError }),
    }));
    edge.stdout.write(jsonText(all));
  }
  for (const { integration, text, templateError } of json ? [] : samples) {
    edge.stderr.write(`${numberedName(receiver.integrations, integration)}:\n`);
    edge.stdout.write(`${text}\n`);
    if (templateError !== undefined) edge.stderr.write(`${templateError}\n`);
  }
  const isFine = samples.every(({ templateError }) => templateError === undefined);
  return isFine ? 0 : EXIT.wrongUsage;
}

interface RenderOptions extends ConfigOptions {
  readonly resolved: boolean;
  /** A file with one Liquid template, instead of a receiver. */
  readonly template?: string | undefined;
  /** What the template is for, which determines how values are escaped. */
  readonly use: TemplateUse;
  readonly json: boolean;
}

const EXTERNAL_URL = 'http://127.0.0.1:9465';

/** Prints what a receiver's integrations, or one template, render for a sample. Sends nothing. */
export async function render(
  edge: Edge,
  receiver: string | undefined,
  options: RenderOptions,
): Promise<number | Answer> {
  if ((receiver === undefined) === (options.template === undefined)) {
    throw new NestwatchError('usage', 'name a receiver, or give --template FILE');
  }
  if (receiver !== undefined) {
    const config = configOf(edge, options);
    return printSamples(edge, config, receiverOf(config, receiver), options);
  }
  const file = options.template!;
  try {
    const notification = sampleNotification('sample', options.resolved, edge.clock.nowUs());
    const template = compileTemplate(textOfFile(file), options.use, SAMPLE_VARIABLES, SAMPLE_OF_SEVERAL);
    const text = template.render(templateVariables(notification, EXTERNAL_URL));
    return { json: { text }, text: `${text}\n` };
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error;
    throw new NestwatchError('config_invalid', `${file}: ${error.message}`, { cause: error });
  }
}

/** Throws `usage` if there is no such receiver, or if it has no integration. */
function receiverOf({ receivers }: Config, name: string): Receiver {
  const receiver = receivers.find((one) => one.name === name);
  if (!receiver) {
    const names = receivers.map((one) => one.name).join(', ');
    throw new NestwatchError('usage', `no receiver has the name ${name}; there is ${names}`);
  }
  if (receiver.integrations.length === 0) {
    throw new NestwatchError('usage', `receiver ${name} has no integrations: it notifies nobody`);
  }
  return receiver;
}

/** A sample belongs to no Nest and so has no members. Only the connection to the server can be tested. */
async function triedForMembers(integration: Integration): Promise<Sent> {
  try {
    await channelOf(integration).probe(integration).run();
    return { outcome: 'left_out', detail: MEMBERS_ALONE };
  } catch (error) {
    return { outcome: 'not_accepted', detail: reasonOf(error, integration) };
  }
}

function whereOf(integration: Integration): string {
  return channelOf(integration).destination(integration);
}

function takenAs(outcome: Outcome): Pick<Taken, 'outcome' | 'detail'> {
  const refused = 'leftOut' in outcome && `not sent to ${leftOutWords(outcome.leftOut)}`;
  switch (outcome.kind) {
    case 'accepted':
      return {
        outcome: refused ? 'partly_accepted' : 'accepted',
        detail: [refused, outcome.templateError].filter(Boolean).join('; '),
      };
    case 'failed':
      return {
        outcome: outcome.remaining ? 'partly_accepted' : 'not_accepted',
        detail: [outcome.error, refused].filter(Boolean).join('; '),
      };
    case 'nothing':
      return { outcome: 'nothing', detail: outcome.why };
    case 'unknown':
      return { outcome: 'unknown', detail: outcome.error };
    default:
      return { outcome: 'not_accepted', detail: outcome.error };
  }
}

const WORDS: Readonly<Record<Taken['outcome'], string>> = {
  accepted: 'accepted',
  partly_accepted: 'partly accepted',
  not_accepted: 'not accepted',
  unknown: 'perhaps accepted',
  nothing: 'nothing to send',
  left_out: 'not sent',
};

export function sentWords({ outcome, detail }: Sent): string {
  const separator = outcome === 'accepted' ? '; ' : ': ';
  return detail === '' ? WORDS[outcome] : `${WORDS[outcome]}${separator}${detail}`;
}

const MEMBERS_ALONE = 'the server takes mails; this one goes to the members of a Nest alone';
