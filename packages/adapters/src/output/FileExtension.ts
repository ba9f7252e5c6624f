/** Extensions of the files in messages and results of tools, by media type. */
const extensions: Readonly<Record<string, string>> = {
  "application/pdf": ".pdf",
  "audio/mpeg": ".mp3",
  "audio/ogg": ".ogg",
  "audio/wav": ".wav",
  "image/gif": ".gif",
  "image/jpeg": ".jpg",
  "image/png": ".png",
  "image/svg+xml": ".svg",
  "image/webp": ".webp"
}

/** The extension with its dot; empty for other media types. */
export const extensionOf = (mediaType: string): string => extensions[mediaType] ?? ""
