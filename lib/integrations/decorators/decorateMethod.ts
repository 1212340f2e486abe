/** The name of a lock: always the same, or made of the arguments of the decorated method. */
export type LockKey = string | ((...args: never[]) => string);

/** An async method. */
export type Method<This, Args extends unknown[], R> = (this: This, ...args: Args) => Promise<R>;

/**
 * Whether a key can be made of such arguments. Parameters without a type annotation are not compared: they have none
 * that could be.
 */
export type Fits<K extends LockKey, Args extends unknown[]> = K extends string | ((...args: Args) => string)
  ? true
  : K extends (...args: infer P) => string
    ? [P[number]] extends [never]
      ? true
      : false
    : false;

/** What the compiler then says that the method is not. */
export type WrongKey = 'The key function of this decorator takes other parameters than the method';

/** The name of the lock for a call with these arguments. */
export function nameFor(key: LockKey, args: readonly unknown[]): string {
  return typeof key === 'function' ? key(...(args as never[])) : key;
}

/** A legacy decorator (`experimentalDecorators`), for methods that the key function can be called with. */
export interface LegacyLockDecorator<K extends LockKey> {
  <Args extends unknown[], R>(
    target: object,
    propertyKey: string | symbol,
    descriptor: TypedPropertyDescriptor<(...args: Args) => Promise<R>> &
      (Fits<K, Args> extends true ? unknown : WrongKey),
  ): void;
}

/** An async method, or whatever else is to be decorated. */
type AnyMethod = (this: unknown, ...args: unknown[]) => unknown;

/**
 * Does what a decorated method is to do.
 *
 * @param call - the method itself, with its `this` and its arguments
 * @param args - those arguments
 * @param self - that `this`
 */
export type Around = (call: () => unknown, args: readonly unknown[], self: unknown) => Promise<unknown>;

/** The decorator of either flavour, as compilers call it. */
type MethodDecoratorOfEither = (target: unknown, keyOrContext: unknown, descriptor?: unknown) => unknown;

/** The part of the package reflect-metadata that keeps what decorators note. */
interface Metadata {
  readonly getOwnMetadataKeys?: (target: object) => unknown[];
  readonly getOwnMetadata?: (key: unknown, target: object) => unknown;
  readonly defineMetadata?: (key: unknown, value: unknown, target: object) => void;
}

/**
 * A decorator that replaces a method by one which runs it within `around`: a standard decorator, and a legacy one
 * (`experimentalDecorators`).
 *
 * @param name - of the decorator, for the error
 * @param around - rejects instead of throwing, or may throw: the method rejects then
 * @returns throws a TypeError where it decorates anything but a method
 */
export function decorateMethod(name: string, around: Around): MethodDecoratorOfEither {
  return (target, keyOrContext, descriptor) => {
    const isStandard = (keyOrContext as { readonly kind?: unknown } | undefined)?.kind === 'method';
    if (isStandard && typeof target === 'function') return wrapped(target as AnyMethod, around);
    const method = (descriptor as PropertyDescriptor | undefined)?.value as unknown;
    if (typeof method !== 'function') throw new TypeError(`${name} decorates methods, and nothing else`);
    (descriptor as PropertyDescriptor).value = wrapped(method as AnyMethod, around);
    return undefined;
  };
}

function wrapped(method: AnyMethod, around: Around): AnyMethod {
  const wrapper = async function (this: unknown, ...args: unknown[]): Promise<unknown> {
    return around(() => method.apply(this, args), args, this);
  };
  // It is in the stack traces.
  Object.defineProperty(wrapper, 'name', { value: method.name, configurable: true });
  copyMetadata(method, wrapper);
  return wrapper;
}

/** What the decorators below have noted at the method (a route of NestJS, say) is looked for at what replaces it. */
function copyMetadata(from: object, to: object): void {
  const { getOwnMetadataKeys, getOwnMetadata, defineMetadata } = Reflect as unknown as Metadata;
  if (!getOwnMetadataKeys || !getOwnMetadata || !defineMetadata) return;
  for (const key of getOwnMetadataKeys(from)) defineMetadata(key, getOwnMetadata(key, from), to);
}
