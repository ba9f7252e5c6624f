/**
 * Payload of an event on one line of the log: what tells it from its neighbours first. Pure.
 *
 * Guarantees: bounded work for any payload. *Does not:* drop anything from the payload that the open event shows.
 */

/** What a reader looks for, most telling first. A name that is not listed follows, in the order of the payload. */
const telling = ["title", "label", "text", "command", "path", "message", "state", "decision", "tool"]

/** Version of the payload, and ids that only connect events. */
const isNoise = (name: string): boolean => name === "v" || /(?:^i|I)d$/.test(name)

const MAX_NAME = 60
const MAX_VALUE = 160
const MAX_PARTS = 6

const shown = (value: unknown): string =>
  typeof value === "string" ? value.slice(0, MAX_VALUE) : JSON.stringify(value).slice(0, MAX_VALUE)

const rankOf = (name: string): number => {
  const at = telling.indexOf(name)
  return at === -1 ? telling.length : at
}

/** `I'll look · channel: text`: the most telling value alone, others with their names. */
export const payloadSummary = (payload: Readonly<Record<string, unknown>>): string =>
  Object.entries(payload)
    .filter(([name, value]) => value !== undefined && !isNoise(name))
    .toSorted(([a], [b]) => rankOf(a) - rankOf(b))
    .slice(0, MAX_PARTS)
    .map(([name, value], at) =>
      at === 0 && rankOf(name) < telling.length ? shown(value) : `${name.slice(0, MAX_NAME)}: ${shown(value)}`
    )
    .join(" · ")
