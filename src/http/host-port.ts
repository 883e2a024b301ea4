export interface HostPort {
  /** Empty if only a port is given; an IPv6 address has no brackets. */
  readonly host: string;
  readonly port: number;
}

/** Reads `host:port`, `[::1]:port` or `:port`; undefined for anything else. */
export function parseHostPort(text: string): HostPort | undefined {
  const match = /^(?:\[([0-9a-fA-F:.]+(?:%[\w.-]+)?)\]|([A-Za-z0-9._-]*)):(\d{1,5})$/.exec(text);
  if (!match) return undefined;
  const port = Number(match[3]);
  return port > 65_535 ? undefined : { host: match[1] ?? match[2] ?? '', port };
}

export function formatHostPort({ host, port }: HostPort): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}
