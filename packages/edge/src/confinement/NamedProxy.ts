/**
 * A proxy that the Edge's own environment names. Confined runs connect through the proxy of their run only, so on a machine that reaches the
 * internet through a proxy they would reach nothing. Pure.
 */
import type { MissingMeans } from "./Means.ts"

const NAMES = ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"]

/** Why runs are not confined where the setting leaves that to the machine. */
export const namedProxyProblem = (
  environment: Readonly<Record<string, string>>
): MissingMeans | undefined => {
  const name = NAMES.find((each) => (environment[each] ?? "") !== "")
  if (name === undefined) return undefined
  return {
    problem: `${name} names a proxy, which confined runs cannot use.`,
    hint: `If this machine reaches the internet without it, start the Edge without ${name}, or set CORRAL_EDGE_CONFINEMENT=required.`
  }
}
