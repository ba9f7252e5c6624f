/** Content policy of a single page: its one script, its one style and requests to the Hub. */
import { createHash } from "node:crypto"

/** Source of a policy that allows exactly this script or style. */
export const sourceHash = (text: string): string =>
  `'sha256-${createHash("sha256").update(text).digest("base64")}'`

export const contentPolicy = (script: string, style: string): string =>
  [
    "default-src 'none'",
    `script-src ${sourceHash(script)}`,
    `style-src ${sourceHash(style)}`,
    "connect-src 'self'",
    "form-action 'none'",
    "base-uri 'none'",
    "frame-ancestors 'none'"
  ].join("; ")
