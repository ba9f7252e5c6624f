/** Names of the classes of failures, by code of the error table. */

/** Class name of a code: `run_timeout` → `RunTimeout`. */
export type FailureName<Code extends string> = Code extends `${infer Head}_${infer Tail}`
  ? `${Capitalize<Head>}${FailureName<Tail>}`
  : Capitalize<Code>

/** Class name of a code, as `FailureName`. */
export const failureName = (code: string): string =>
  code.replaceAll(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase())
