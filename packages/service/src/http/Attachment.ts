/** Headers for content that a runtime created. A browser saves it, and never runs it with the service's origin. */
import type { Artifact } from "@corral/domain/run/Artifact"

export const attachmentHeaders = ({
  name,
  sha256
}: Pick<Artifact, "name" | "sha256">): Record<string, string> => ({
  ...savedHeaders(name),
  etag: `"${sha256}"`
})

/** The same for content without a hash. */
export const savedHeaders = (name: string): Record<string, string> => ({
  "content-disposition": attachment(name.toWellFormed()),
  "content-security-policy": "sandbox; default-src 'none'",
  "x-content-type-options": "nosniff"
})

/** RFC 6266: an ASCII name for every client, and the full name for clients that read RFC 8187. */
const attachment = (name: string): string => {
  const plain = name.replaceAll(/[^A-Za-z0-9._ -]/g, "_")
  const whole = encodeURIComponent(name).replaceAll(
    /['()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`
  )
  return `attachment; filename="${plain}"; filename*=UTF-8''${whole}`
}
