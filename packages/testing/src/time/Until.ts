/** Polls until a value is found, for changes that send no notice. */
export const until = async <A>(
  look: () => Promise<A | undefined>,
  what: string,
  millis = 15_000
): Promise<A> => {
  const late = performance.now() + millis
  for (;;) {
    const found = await look()
    if (found !== undefined) return found
    if (performance.now() > late) throw new Error(`${what} did not come within ${millis} ms`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}
