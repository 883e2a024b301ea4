import type { EmailIntegration } from '../channels/email/email-config.ts';
import type { Integration, Receiver } from '../channels/receiver.ts';
import { traitsOf } from '../channels/traits.ts';
import type { Check } from '../document/check.ts';
import type { Path } from '../document/problem.ts';
import type { Route } from '../domain/routing/route.ts';
import { isLoopback } from '../http/web-address.ts';
import { findAlertmanagerKeys } from './alertmanager-keys.ts';
import type { Config } from './config.ts';
import { findExposures } from './exposure-warnings.ts';
import { findIneffectiveRules } from './ineffective-rules.ts';
import { findLabelSlips } from './label-warnings.ts';
import { isOpenToAll } from './sections/web-section.ts';

/** Adds what a valid configuration says but probably does not intend; the daemon runs with it anyway. */
export function findWarnings(check: Check, config: Config): void {
  for (const { name, baseUrl, tls } of config.regions) {
    const { protocol, hostname } = new URL(baseUrl);
    if (isLoopback(hostname)) continue;
    if (protocol === 'http:') {
      check.problem(['regions', name, 'base_url'], 'the token goes there unencrypted: use https');
    } else if (tls?.insecureSkipVerify) {
      check.problem(
        ['regions', name, 'tls_config', 'insecure_skip_verify'],
        'anyone on the network path can read the token: set the trusted certificate as `ca_file` instead',
      );
    }
  }
  if (isOpenToAll(config.web)) {
    check.problem(
      ['web', 'listen'],
      'anyone who can reach this address can read everything and silence alerts: set `web.auth`',
    );
  }
  for (const [index, receiver] of config.receivers.entries()) findBarePasswords(check, index, receiver);
  findExposures(check, config);
  const notified = notifiedReceivers(config);
  for (const [index, { name }] of config.receivers.entries()) {
    if (check.raw(['receivers', index]) === undefined || notified.has(name)) continue;
    check.problem(['receivers', index, 'name'], 'nothing leads to this receiver: name it in a route');
  }
  for (const [index, receiver] of config.receivers.entries()) {
    if (receiver.fallback !== undefined || !reachesMembersAlone(receiver)) continue;
    const instead =
      receiver.name === config.route.receiver
        ? 'nobody is notified'
        : `receiver ${JSON.stringify(config.route.receiver)} of the root route is notified instead`;
    check.problem(
      ['receivers', index],
      `where a Nest has no active members, or an alert belongs to no Nest, ${instead}: set \`fallback\``,
    );
  }
  const named = new Set(nodesOf(config.route).flatMap(intervalsOf));
  for (const key of ['time_intervals', 'mute_time_intervals']) {
    for (const [index, name] of namesAt(check, [key])) {
      if (!named.has(name)) check.problem([key, index, 'name'], 'no route names this time interval');
    }
  }
  findUnreachable(check, ['route'], config.route);
  findLabelSlips(check, config);
  findIneffectiveRules(check, config);
  findAlertmanagerKeys(check);
}

/** Whether only members of Nests are notified. */
function reachesMembersAlone({ integrations }: Receiver): boolean {
  const isAlone = (one: Integration) => traitsOf(one).nestMembers?.beside.length === 0;
  return integrations.length > 0 && integrations.every(isAlone);
}

/** Passwords sent to a mail server whose identity is not verified. */
function findBarePasswords(check: Check, receiver: number, { integrations }: Receiver): void {
  const mails = integrations.filter((one): one is EmailIntegration => one.kind === 'email');
  for (const [index, { password, requireTls, isImplicitTls, tls, smarthost }] of mails.entries()) {
    if (!password || isLoopback(smarthost.host)) continue;
    const path = ['receivers', receiver, 'email_configs', index];
    if (!requireTls && !isImplicitTls) {
      check.problem(
        path,
        'the password may be sent to the mail server unencrypted: do not set `require_tls: false`',
      );
    } else if (tls?.insecureSkipVerify) {
      check.problem(
        path,
        'anyone on the network path can read the password: set the trusted certificate as `ca_file` instead of `insecure_skip_verify`',
      );
    }
  }
}

/** The receivers that a route, a fallback, a forward or a digest leads to. */
function notifiedReceivers({ route, receivers, forward, digests }: Config): ReadonlySet<string | undefined> {
  return new Set([
    ...nodesOf(route).flatMap((node) => [node.receiver, node.escalation?.receiver]),
    ...receivers.map(({ fallback }) => fallback),
    ...forward.map(({ receiver }) => receiver),
    ...digests.map(({ receiver }) => receiver),
  ]);
}

function nodesOf(route: Route): Route[] {
  return [route, ...route.routes.flatMap(nodesOf)];
}

function intervalsOf({ muteTimeIntervals = [], activeTimeIntervals = [] }: Route): readonly string[] {
  return [...muteTimeIntervals, ...activeTimeIntervals];
}

/** A child without matchers takes every alert; without `continue` nothing is left for those after it. */
function findUnreachable(check: Check, path: Path, { routes }: Route): void {
  const last = routes.findIndex((child) => child.matchers.length === 0 && !child.continue);
  for (const [index, child] of routes.entries()) {
    const at = [...path, 'routes', index];
    if (last !== -1 && index > last) {
      check.problem(at, `no alert reaches this route: routes[${last}] has no matchers and takes all`);
    } else {
      findUnreachable(check, at, child);
    }
  }
}

function namesAt(check: Check, path: Path): [index: number, name: string][] {
  return entriesAt(check, path).map((entry, index) => [index, String(check.raw([...entry, 'name']))]);
}

/** The paths of a list's entries. */
function entriesAt(check: Check, path: Path): Path[] {
  const list = check.raw(path);
  return Array.isArray(list) ? list.map((_, index) => [...path, index]) : [];
}
