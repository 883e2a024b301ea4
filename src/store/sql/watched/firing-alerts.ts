/** An SQL expression for how many alerts of a Bird fire; both arguments are expressions. */
export function firingAlerts(region: string, birdId: string): string {
  return `(SELECT count(*) FROM alert WHERE ${isFiringAlertOf(region, birdId)})`;
}

/** An SQL condition that an alert is about a Bird and fires. */
export function isFiringAlertOf(region: string, birdId: string): string {
  return `alert.region = ${region} AND alert.scope = ${region} || '/bird/' || ${birdId} AND alert.state = 'firing'`;
}
