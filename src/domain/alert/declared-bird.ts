/** One Bird of a file of declared Birds: what is absent is not declared. */
export interface DeclaredBird {
  readonly region: string;
  readonly nest: string;
  readonly bird: string;
  readonly id?: string | undefined;
  readonly status?: string | undefined;
  readonly trigger?: string | undefined;
  readonly published?: boolean | undefined;
}
