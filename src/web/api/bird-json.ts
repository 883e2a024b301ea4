/** Formats Birds, Flights and Nests for the JSON API. */

import type { ServiceLinks } from '../../config/sections/regions-section.ts';
import { eventJson, wireText } from '../../domain/alert/event.ts';
import type { FlightLog } from '../../domain/alert/fact.ts';
import { successRatio } from '../../domain/statistics/flight-statistics.ts';
import { type BirdReport, durationUs, type FlightReport } from '../../operator/bird-report.ts';
import type { BirdOverview, FlightOverview, NestOverview } from '../../store/bird-store.ts';
import { birdPlace, flightPlace, nestPlace } from '../service-place.ts';
import type { NameOf } from '../web-options.ts';
import {
  actionJson,
  alertJson,
  deadlineJson,
  deliveryJson,
  instantJson,
  suppressionJson,
} from './alert-json.ts';

export function birdJson(bird: BirdOverview, serviceLinks: ServiceLinks) {
  return {
    region: bird.region,
    nest_id: wireText(bird.nestId),
    nest: wireText(bird.nest),
    bird_id: wireText(bird.birdId),
    bird: wireText(bird.name),
    status: wireText(bird.status),
    status_since: instantJson(bird.statusSinceUs),
    trigger_type: wireText(bird.triggerType),
    standing: bird.standing,
    alerts_firing: bird.firing,
    last_flight: bird.last
      ? {
          flight_id: wireText(bird.last.flightId),
          started_at: instantJson(bird.last.startedAtUs),
          status: wireText(bird.last.status),
        }
      : null,
    latest: bird.latest.map(wireText),
    links: serviceLinks(birdPlace(bird)),
  };
}

export function flightJson(flight: FlightOverview, serviceLinks: ServiceLinks) {
  const lastedUs = durationUs(flight);
  return {
    region: flight.region,
    nest_id: wireText(flight.nestId),
    nest: wireText(flight.nest),
    bird_id: wireText(flight.birdId),
    bird: wireText(flight.bird),
    flight_id: wireText(flight.flightId),
    status: wireText(flight.status),
    started_at: instantJson(flight.startedAtUs),
    ended_at: instantJson(flight.endedAtUs),
    duration_seconds: lastedUs === undefined ? null : lastedUs / 1e6,
    step_id: wireText(flight.step) || null,
    scope: wireText(flight.scope) || null,
    message: wireText(flight.message),
    event: flight.eventKey || null,
    links: serviceLinks(flightPlace(flight)),
  };
}

export function nestJson(nest: NestOverview, serviceLinks: ServiceLinks) {
  return {
    region: nest.region,
    nest_id: wireText(nest.nestId),
    nest: wireText(nest.nest),
    birds: nest.birds,
    birds_alerting: nest.alerting,
    birds_failing: nest.failing,
    birds_off: nest.off,
    alerts_firing: nest.firing,
    flights_succeeded: nest.succeeded,
    flights_failed: nest.failed,
    success_ratio: successRatio(nest) ?? null,
    links: serviceLinks(nestPlace(nest)),
  };
}

export function birdReportJson(report: BirdReport, externalUrl: string, serviceLinks: ServiceLinks) {
  const { bird, flights, counts, durations, causes, alerts, log, rhythm, switchedOff } = report;
  const { action, deadlines, unusual } = report;
  return {
    ...birdJson(bird, serviceLinks),
    present: bird.present,
    counts: counts.map((one) => ({
      hours: one.hours,
      succeeded: one.succeeded,
      failed: one.failed,
      cancelled: one.cancelled,
      success_ratio: successRatio(one) ?? null,
    })),
    durations: durations
      ? { flights: durations.count, p50_seconds: durations.p50Us / 1e6, p95_seconds: durations.p95Us / 1e6 }
      : null,
    next_flight: rhythm
      ? { expected_at: instantJson(rhythm.nextUs), every_seconds: rhythm.everyUs / 1e6 }
      : null,
    unusual,
    causes: causes.map(({ error, count, example }) => ({
      error,
      count,
      example: flightJson(example, serviceLinks),
    })),
    deadlines: deadlines.map(({ rule, zone, nextUs, last, notJudged }) => ({
      rule,
      timezone: zone,
      next_at: nextUs === undefined ? null : instantJson(nextUs),
      last: last.map(deadlineJson),
      not_judged: notJudged
        ? { at: instantJson(notJudged.atUs), watched_since: instantJson(notJudged.sinceUs) }
        : null,
    })),
    switched_off: switchedOff ? eventJson(switchedOff) : null,
    alerts: alerts.map((alert) => alertJson(alert, externalUrl)),
    flights: flights.map((flight) => flightJson(flight, serviceLinks)),
    action: action ? actionJson(action) : null,
    log: log.map(eventJson),
  };
}

export function flightReportJson(
  report: FlightReport,
  externalUrl: string,
  serviceLinks: ServiceLinks,
  nameOf: NameOf,
) {
  const { flight, event, alerts, deliveries, suppressions } = report;
  return {
    ...flightJson(flight, serviceLinks),
    end: event ? eventJson(event) : null,
    alerts: alerts.map((alert) => alertJson(alert, externalUrl)),
    deliveries: deliveries.map((one) => deliveryJson(one, nameOf)),
    suppressions: suppressions.map(suppressionJson),
  };
}

export function flightLogJson(log: FlightLog) {
  if ('refused' in log) return { refused: wireText(log.refused) };
  return {
    entries: log.steps.map((step) => ({
      at: instantJson(step.atUs),
      type: step.sort,
      level: wireText(step.level) || null,
      step_id: wireText(step.step) || null,
      scope: wireText(step.scope) || null,
      message: wireText(step.message),
      went_on: step.wentOn,
    })),
    older: log.more,
  };
}
