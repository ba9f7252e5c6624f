/**
 * Polls until a value is found, for changes that send no notice. Pauses grow with the time that has passed: a look is a request to a service,
 * and on a busy machine the looks of waiting tests would slow what they wait for. The limit counts uncontended time.
 */
import { UncontendedTime } from "./UncontendedTime.ts"

export const until = async <A>(
  look: () => Promise<A | undefined>,
  what: string,
  millis = 15_000
): Promise<A> => {
  const startedAt = performance.now()
  const time = new UncontendedTime()
  for (;;) {
    const found = await look()
    if (found !== undefined) return found
    const passed = performance.now() - startedAt
    if (passed > millis && time.millis > millis) throw new Error(`${what} did not come within ${millis} ms`)
    await new Promise((resolve) => setTimeout(resolve, Math.min(250, 10 + passed / 4)))
  }
}
