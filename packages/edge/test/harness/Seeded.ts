/**
 * Random choices that can be made again: the seed is printed, `CORRAL_TEST_SEED` sets it.
 */
export class Seeded {
  readonly seed: number
  private state: number

  /** `seed`: the same choices each time. */
  constructor(what: string, seed?: number) {
    const seedText = process.env["CORRAL_TEST_SEED"] ?? seed
    this.seed = seedText === undefined ? Math.floor(Math.random() * 0x1_0000_0000) : Number(seedText)
    this.state = this.seed
    console.log(`${what}: seed ${this.seed}`)
  }

  /** A whole number from `least` to `most`, both included. */
  whole(least: number, most: number): number {
    // mulberry32
    this.state = (this.state + 0x6d2b79f5) | 0
    let mixed = Math.imul(this.state ^ (this.state >>> 15), 1 | this.state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return least + (((mixed ^ (mixed >>> 14)) >>> 0) % (most - least + 1))
  }

  pick<A>(choices: readonly [A, ...ReadonlyArray<A>]): A {
    return choices[this.whole(0, choices.length - 1)] ?? choices[0]
  }
}
