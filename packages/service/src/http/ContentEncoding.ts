/** Encodings of answers that a request accepts. Pure. */

/** Content encoding; absent for identity. */
export type Encoding = "br" | "gzip"

/** Best encoding that a request accepts. Weight 0 excludes an encoding. */
export const encodingOf = (accepted = ""): Encoding | undefined => {
  const weights = new Map(
    accepted.split(",").map((part) => {
      const [name = "", ...parameters] = part.trim().toLowerCase().split(";")
      const weight = parameters.find((parameter) => parameter.trim().startsWith("q="))?.trim()
      return [name.trim(), weight === undefined ? 1 : Number(weight.slice(2))]
    })
  )
  return (["br", "gzip"] as const).find((name) => (weights.get(name) ?? 0) > 0)
}
