/** What is known of a Nest, Bird or Flight for the placeholders of `regions.*.links`, which have these names. */
import type { BirdOverview, FlightOverview, NestOverview } from '../store/bird-store.ts';

type Nest = Pick<NestOverview, 'region' | 'nestId' | 'nest'>;

export function nestPlace({ region, nestId, nest }: Nest) {
  return { region, nest_id: nestId, nest };
}

export function birdPlace(bird: BirdOverview) {
  return { ...nestPlace(bird), bird_id: bird.birdId, bird: bird.name };
}

export function flightPlace(flight: FlightOverview) {
  return { ...nestPlace(flight), bird_id: flight.birdId, bird: flight.bird, flight_id: flight.flightId };
}
