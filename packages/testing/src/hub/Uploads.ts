/** Uploads of files for messages, and small files of each kind. */
import type { Attachment } from "@corral/domain/session/Attachment"
import type { HubClient } from "./HubClient.ts"

/** An image of one pixel. */
export const PIXEL = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==",
  "base64"
)

export const upload = (
  client: HubClient,
  name: string,
  mediaType: string,
  content: string | Uint8Array,
  headers: Readonly<Record<string, string>> = {}
) =>
  client.ask<Attachment>("POST", `/client/uploads?name=${encodeURIComponent(name)}`, {
    body: content,
    headers: { "content-type": mediaType, ...headers }
  })
