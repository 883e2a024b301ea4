/**
 * Actions on Flights. A Flight is active from its start to an end, and again once it is reopened.
 *
 *   active ──endFlight or its plan──► succeeded | failed | cancelled ──reopenFlight──► active
 *
 * A plan ends the Flight only within the active period in which it was made: not if the Flight was ended by hand
 * before, nor after it was reopened.
 */
import { NestwatchError } from '../../errors.ts';
import { birdOf } from './entry-actions.ts';
import {
  endOf,
  type FlightEnd,
  type FlightLogRecord,
  type FlightOutcome,
  type FlightRecord,
  startedAtOf,
} from './simulated-record.ts';
import { createdNowUs, type Flight, guid, insert, onceAt, type State, uuidV7, visibleAtUs } from './state.ts';
import { FAILURES } from './vocabulary.ts';

/**
 * A Flight ends now by default; at an earlier instant if the service learned of its end late. A failed Flight has a
 * plain message by default; '' for none.
 */
type EndOptions = Partial<
  Pick<FlightEnd, 'endedAtUs' | 'errorMessages' | 'failedStep' | 'skippedErrors' | 'retriedErrors'>
>;

interface FlightPlan extends EndOptions {
  /** Now by default; an earlier instant makes a Flight that has been active since then. */
  readonly startedAtUs?: number;
  /** From the start to the planned end; 10 s if only `endsAs` is given. */
  readonly fliesForMs?: number;
  /** Without it the Flight stays active until it is ended. */
  readonly endsAs?: FlightOutcome;
  /** From when on it is listed. */
  readonly visibleAtUs?: number;
}

interface NewFlightLog extends Pick<FlightLogRecord, 'createdAtUs' | 'fields'> {
  /** From when on it can be read; now by default. */
  readonly visibleAtUs?: number;
}

export function flightActions(state: State) {
  function end(flight: Flight, status: FlightOutcome, options: EndOptions): void {
    const usual = FAILURES[0];
    flight.ends.push({
      status,
      endedAtUs: options.endedAtUs ?? state.nowUs(),
      visibleAtUs: state.nowUs(),
      errorMessages: options.errorMessages ?? (status === 'failed' ? usual.message : ''),
      failedStep: options.failedStep ?? usual.step,
      skippedErrors: options.skippedErrors ?? 0,
      retriedErrors: options.retriedErrors ?? 0,
      reopenedAtUs: undefined,
    });
    state.birds.get(flight.birdId)?.activeFlights.delete(flight);
  }

  function existing(flightId: string): Flight {
    const flight = state.flights.get(flightId.toLowerCase());
    if (!flight) throw new NestwatchError('not_found', `there is no Flight ${flightId}`);
    return flight;
  }

  return {
    startFlight(birdId: string, plan: FlightPlan = {}): FlightRecord {
      const bird = birdOf(state, birdId);
      const flight: Flight = {
        id: guid(state.ids),
        birdId,
        startedAtUs: plan.startedAtUs ?? createdNowUs(state),
        visibleAtUs: plan.visibleAtUs ?? visibleAtUs(state),
        ends: [],
      };
      state.flights.set(flight.id, flight);
      bird.eventErrorsInARow = 0;
      onceAt(state, flight.visibleAtUs, () => {
        insert(bird.flights, startedAtOf, flight);
        bird.flightsById.set(flight.id, flight);
        if (!endOf(flight)) bird.activeFlights.add(flight);
      });
      const { endsAs, fliesForMs = 10_000 } = plan;
      if (endsAs) {
        state.agenda.at(flight.startedAtUs + Math.round(fliesForMs * 1000), () => {
          if (flight.ends.length === 0) end(flight, endsAs, plan);
        });
      }
      return flight;
    },
    endFlight(flightId: string, status: FlightOutcome, options: EndOptions = {}): FlightRecord {
      const flight = existing(flightId);
      if (endOf(flight)) throw new NestwatchError('usage', `the Flight ${flightId} has ended already`);
      end(flight, status, options);
      return flight;
    },
    reopenFlight(flightId: string): FlightRecord {
      const flight = existing(flightId);
      const last = flight.ends.at(-1);
      if (!last || !endOf(flight)) throw new NestwatchError('usage', `the Flight ${flightId} is active`);
      last.reopenedAtUs = state.nowUs();
      const bird = birdOf(state, flight.birdId);
      if (bird.flightsById.has(flight.id)) bird.activeFlights.add(flight);
      return flight;
    },
    /** Adds an entry to the Flight's log. */
    appendFlightLog(
      flightId: string,
      { createdAtUs, visibleAtUs = state.nowUs(), fields }: NewFlightLog,
    ): FlightLogRecord {
      const flight = existing(flightId);
      const entry = { id: uuidV7(createdAtUs, state.ids), flightId: flight.id, createdAtUs, fields };
      onceAt(state, visibleAtUs, () => {
        flight.told = [...(flight.told ?? []), entry];
      });
      return entry;
    },
  };
}
