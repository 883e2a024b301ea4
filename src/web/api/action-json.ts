import { type Action, sayAction } from '../../domain/action/action.ts';
import { wireText } from '../../domain/alert/event.ts';
import { dayAndSecond } from '../../text/instant-words.ts';
import { instantJson } from './alert-json.ts';

export function actionJson(action: Action) {
  const { id, name, state, region, birdId, bird, by, rule, comment, reason, newFlight } = action;
  return {
    ...{ id, action: name, state, region, bird_id: birdId, bird: wireText(bird) },
    ...{ by: by.map(wireText), rule, comment: wireText(comment), reason: wireText(reason) },
    withheld_by: action.guard ?? null,
    failed_flight_id: action.failedFlightId,
    wanted_at: instantJson(action.wantedAtUs),
    asked_at: instantJson(action.askedAtUs),
    settled_at: instantJson(action.settledAtUs),
    new_flight_id: newFlight?.flightId ?? null,
    is_new_flight_looked_for: action.seeks !== undefined,
    summary: wireText(sayAction(action, dayAndSecond)),
  };
}
