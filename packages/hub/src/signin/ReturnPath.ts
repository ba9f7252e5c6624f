/**
 * Where a person goes after signing in: a path of this Hub, whatever a link asked for. Pure.
 */

/** Stands for our own origin while a path is read as browsers read it. */
const OWN = "https://hub.invalid"

/** What a browser, or a proxy that decodes once more, would take for another host. */
const leadsAway = /^[/\\]*(?:%2f|%5c|[/\\]{2})/i

/** The path, query and fragment as they are safe to send; "/" for anything that is no path of ours. */
export const returnPathOf = (asked: string | undefined): string => {
  if (asked === undefined || !asked.startsWith("/") || /[\\\p{Cc}]/u.test(asked)) return "/"
  const url = URL.parse(asked, OWN)
  if (url === null || url.origin !== OWN || leadsAway.test(url.pathname)) return "/"
  return url.pathname + url.search + url.hash
}
