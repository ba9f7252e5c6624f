/** Plain JSON values: what the generated documents are made of. */
import { isJsonObject } from "@corral/domain/text/JsonObject"

/** The same value with the keys of every object in order, so that the same code gives the same text. */
export const sorted = (value: unknown): unknown =>
  Array.isArray(value)
    ? value.map(sorted)
    : isJsonObject(value)
      ? Object.fromEntries(
          Object.entries(value)
            .toSorted(([a], [b]) => (a < b ? -1 : 1))
            .map(([key, inner]) => [key, sorted(inner)])
        )
      : value
