/**
 * Up to where a whole feed is proven, from up to where each of its streams is (0: not at all yet). It is the least of
 * them, once all were proven; a stream that appears later does not take back what is known of the others.
 */
export function createProvenUntil(): (streamsUs: Iterable<number>) => number {
  let wasWhole = false;
  return (streamsUs) => {
    let leastUs = Number.POSITIVE_INFINITY;
    let isWhole = true;
    for (const us of streamsUs) {
      if (us === 0) isWhole = false;
      else leastUs = Math.min(leastUs, us);
    }
    if (leastUs === Number.POSITIVE_INFINITY) return 0;
    wasWhole ||= isWhole;
    return wasWhole ? leastUs : 0;
  };
}
