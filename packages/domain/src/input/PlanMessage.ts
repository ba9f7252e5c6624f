/** Message that carries an approved plan out in the next run of an Edge. A Hub sends its own. Pure. */

/** A runtime that does not remember the plan receives it as a text. */
export const planMessage = (comment: string | undefined, plan?: string): string =>
  [
    "The plan was approved. Carry it out.",
    ...(comment === undefined ? [] : [comment]),
    ...(plan === undefined ? [] : ["The plan:", plan])
  ].join("\n\n")
