/**
 * Library of the identity provider for development, loaded when it is first used.
 *
 * Guarantees: it loads without its warning about the version of Node. It knows the LTS releases only, and Corral has checked the version itself.
 */
import { Effect } from "effect"

const isItsWarning = (text: unknown): boolean => typeof text === "string" && text.includes("oidc-provider ")

export const providerLibrary = Effect.promise(async () => {
  const { warn } = globalThis.console
  globalThis.console.warn = (...texts) => {
    if (!isItsWarning(texts[0])) warn(...texts)
  }
  try {
    return (await import("oidc-provider")).default
  } finally {
    globalThis.console.warn = warn
  }
})
