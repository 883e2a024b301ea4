import { type BlockList, isIP } from 'node:net';

/** An address, which is a range of one, or a range such as 10.1.0.0/16. */
export interface AddressRange {
  readonly network: string;
  readonly family: 'ipv4' | 'ipv6';
  /** How many of the leading bits all addresses of the range share. */
  readonly bits: number;
}

/** Undefined for anything else. */
export function parseRange(text: string): AddressRange | undefined {
  const [, network = '', prefix] = /^([^/%]+)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  const family = isIP(network);
  const most = family === 4 ? 32 : 128;
  const bits = prefix === undefined ? most : Number(prefix);
  if (family === 0 || bits > most) return undefined;
  return { network, family: family === 4 ? 'ipv4' : 'ipv6', bits };
}

export function addRange(list: BlockList, { network, family, bits }: AddressRange): void {
  list.addSubnet(network, bits, family);
}
