/**
 * Headers of every response of a preview. A page may load from and connect to its own origin only, may not be framed, and shares no
 * browsing context with the page that opened it.
 *
 * Inline script and style are allowed: dev servers and reports are made of them, and a page is not kept from itself. The policy keeps it
 * from everything else. `eval` is allowed to dev servers alone, whose source maps need it. What no policy stops is a page that
 * navigates away with what it knows in the address.
 */
export type PreviewKind = "folder" | "port"

const policy = (port: number, kind: PreviewKind): string =>
  [
    "default-src 'self'",
    `script-src 'self' 'unsafe-inline'${kind === "port" ? " 'unsafe-eval' blob:" : ""}`,
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data: blob:",
    "font-src 'self' data:",
    "media-src 'self' data: blob:",
    kind === "port" ? `connect-src 'self' ws://127.0.0.1:${port}` : "connect-src 'self'",
    "worker-src 'self' blob:",
    "frame-src 'self'",
    "manifest-src 'self'",
    "object-src 'none'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'"
  ].join("; ")

/** Lower-case names: an upstream's headers of these names are replaced. */
export const protection = (port: number, kind: PreviewKind): Readonly<Record<string, string>> => ({
  "cache-control": "no-store",
  "content-security-policy": policy(port, kind),
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "x-dns-prefetch-control": "off",
  "x-frame-options": "DENY"
})
