/** An answer over HTTP, read whole. */
export interface Answer<Body = unknown> {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** `undefined` where there is none. */
  readonly body: Body
}

/** The code of a refusal. */
export const codeOf = (answer: Answer): unknown => (answer.body as { readonly code?: unknown }).code
