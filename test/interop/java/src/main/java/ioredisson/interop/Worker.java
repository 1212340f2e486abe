package ioredisson.interop;

import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;

/** One named Java thread with a queue: to Redisson, one owner of locks. */
final class Worker {
    private final BlockingQueue<Runnable> tasks = new LinkedBlockingQueue<>();
    private final Thread thread;

    Worker(String name) {
        thread = new Thread(this::loop, name);
        thread.setDaemon(true);
        thread.start();
    }

    void submit(Runnable task) {
        tasks.add(task);
    }

    /** Interrupts the call under way; an idle worker just goes on. */
    void interrupt() {
        thread.interrupt();
    }

    private void loop() {
        while (true) {
            try {
                tasks.take().run();
                // An interrupt that came too late for its call must not hit the next one.
                Thread.interrupted();
            } catch (InterruptedException e) {
                // Idle: nothing to interrupt.
            }
        }
    }
}
