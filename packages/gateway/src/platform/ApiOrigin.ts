/** Where a platform's API is: an https origin without a path, or an http one on this machine, for a platform of one's own. */
import { isLoopback } from "@corral/service/Addresses"
import { Schema } from "effect"

export const ApiOrigin = Schema.String.check(
  Schema.makeFilter((text) => {
    const url = URL.parse(text)
    return (
      (url?.origin === text &&
        (url.protocol === "https:" || (url.protocol === "http:" && isLoopback(url.hostname)))) ||
      "Expected an origin"
    )
  })
)
