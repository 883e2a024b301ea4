import type { Alert } from '../domain/alert/alert.ts';
import type { BirdToJudge, FlightToJudge } from './record.ts';

export interface OverdueStore {
  /** Open Flights that started up to `startedUs` and are to be judged by `nowUs`, the oldest first. */
  flights(startedUs: number, nowUs: number, limit: number): Promise<FlightToJudge[]>;
  /** Says when they are to be judged next. */
  judgeFlights(
    flights: readonly {
      readonly stream: number;
      readonly startedAtUs: number;
      readonly flightId: string;
      readonly nextUs: number;
    }[],
  ): Promise<void>;
  /** Present, active Birds that are to be judged by `nowUs`. */
  birds(nowUs: number, limit: number): Promise<BirdToJudge[]>;
  judgeBirds(
    birds: readonly { readonly region: string; readonly birdId: string; readonly nextUs: number }[],
  ): Promise<void>;
  /** Judges all Flights and Birds anew: the rules may be others. */
  forget(): Promise<void>;
  /** Alerts of this name that fire about a Flight which is no longer open. */
  alertsOfGoneFlights(alertname: string): Promise<Alert[]>;
}
