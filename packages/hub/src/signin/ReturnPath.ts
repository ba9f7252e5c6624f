/** Path after a sign-in: always on this Hub, also if a link requests another site. Pure. */

/** Placeholder for the origin of the Hub, to parse a path as browsers do. */
const PLACEHOLDER_ORIGIN = "https://hub.invalid"

/** Paths that a browser, or a proxy that decodes again, reads as another host. */
const leadsAway = /^[/\\]*(?:%2f|%5c|[/\\]{2})/i

/** Safe path, query and fragment; "/" for anything that is not a path of the Hub. */
export const returnPathOf = (requested: string | undefined): string => {
  if (requested === undefined || !requested.startsWith("/") || /[\\\p{Cc}]/u.test(requested)) return "/"
  const url = URL.parse(requested, PLACEHOLDER_ORIGIN)
  if (url === null || url.origin !== PLACEHOLDER_ORIGIN || leadsAway.test(url.pathname)) return "/"
  return url.pathname + url.search + url.hash
}
