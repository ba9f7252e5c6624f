/**
 * Address of a Hub. Every connection to another machine needs TLS.
 */
import { firstCharacters, withoutTrailing } from "@corral/domain/text/Cut"
import { LINK_PATH } from "@corral/domain/link/EdgeLink"
import { isLoopback } from "@corral/service/Addresses"

/** The address as a URL without a slash at its end, `http` or `https`; a sentence where it cannot be used. */
export const hubUrlOf = (text: string): { readonly url: string } | { readonly problem: string } => {
  const url = URL.canParse(text) ? new URL(text) : undefined
  const protocol = url?.protocol.replace(/^ws/, "http")
  if (url === undefined || (protocol !== "http:" && protocol !== "https:") || url.host === "")
    return {
      problem: `"${firstCharacters(text, 200)}" is no address of a Hub such as https://corral.example`
    }
  // The message never repeats this part, because it may be a password.
  if (url.username !== "" || url.password !== "" || url.search !== "" || url.hash !== "")
    return { problem: `the address of the Hub at ${url.host} may hold no sign-in and no query` }
  if (protocol === "http:" && !isLoopback(url.hostname))
    return { problem: `a Hub on another machine needs https, and ${url.host} was given without` }
  return { url: `${protocol}//${url.host}${withoutTrailing(url.pathname, "/")}` }
}

/** Where that Hub takes links. `hub` is what `hubUrlOf` gave. */
export const linkAddressOf = (hub: string): string => hub.replace(/^http/, "ws") + LINK_PATH
